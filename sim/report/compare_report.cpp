#include "sim/report/compare_report.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/text.hpp"
#include "sim/report/phrases.hpp"
#include "sim/report/report.hpp"
#include "sim/report/result_rows.hpp"
#include "sim/report/verdict.hpp"
#include "sim/training/memory.hpp"
#include "sim/training/parallel_setup.hpp"

namespace allreplay {

namespace {

// Whether a column of the table says it already.
bool is_in_a_column(std::string_view option, const ScenarioLabels& names) {
  if (option == "accumulate") return names.differ_in("micro-batches");
  constexpr std::string_view layout[] = {"pp", "tp", "cp", "ep", "schedule", "chunks"};
  return names.differ_in("layout") && std::find(std::begin(layout), std::end(layout), option) != std::end(layout);
}

// The options of each row, without those that all rows have alike, which are the last.
std::vector<NamedValues> apart_from_common(const std::vector<Outcome>& outcomes, const ScenarioLabels& names) {
  std::vector<NamedValues> options;
  for (const Outcome& one : outcomes) {
    options.push_back(options_to_show(one.scenario));
    std::erase_if(options.back(), [&](const auto& option) { return is_in_a_column(option.first, names); });
  }
  NamedValues common = options.size() > 1 ? options.front() : NamedValues();
  for (const NamedValues& own : options)
    std::erase_if(common, [&](const auto& one) { return std::find(own.begin(), own.end(), one) == own.end(); });
  for (NamedValues& own : options)
    std::erase_if(own, [&](const auto& one) { return std::find(common.begin(), common.end(), one) != common.end(); });
  options.push_back(common);
  return options;
}

// Each once.
std::vector<std::int64_t> reference_workers(const Comparison& comparison) {
  std::set<std::int64_t> workers;
  for (const ScalingReference& one : comparison.references) workers.insert(one.workers);
  return {workers.begin(), workers.end()};
}

std::optional<double> bubble_of(const Result& result) {
  return result.parallel && result.parallel->degrees.pp > 1 ? std::optional(result.parallel->bubble_s) : std::nullopt;
}

// What holds for every row.
std::string heading(const Comparison& comparison, const ScenarioLabels& names, const NamedValues& options) {
  const auto& [scenario, result, wall_s] = comparison.outcomes.front();
  std::string text = names.title();
  if (scenario.codec && !names.differ_in("codec")) text += "\n" + codec_text(scenario);
  const bool several = std::any_of(comparison.outcomes.begin(), comparison.outcomes.end(),
                                   [](const Outcome& one) { return one.result.plan.sharding.accumulate > 1; });
  text += fmt::format("\n{}forward {}, backward {}, {} of gradients",
                      several && scenario.options.parallel.pipeline() ? "a micro-batch, all ranks: "
                      : several                                       ? "a micro-batch: "
                      : scenario.options.parallel.pipeline()          ? "all ranks: "
                                                                      : "",
                      format_duration(result.metrics.forward_s), format_duration(result.metrics.backward_s),
                      format_size(scenario.profile->bytes()));
  if (const std::string bounds = bounds_text(comparison.outcomes); !bounds.empty() && names.on_one_network())
    text += "\n" + bounds;
  if (const auto workers = reference_workers(comparison); workers.back() > 1)
    text += fmt::format(
        "\nefficiency: a GPU's throughput relative to that on {} workers, the smallest size that {} fits",
        fmt::join(workers, " or "),
        workers.size() > 1                                              ? "the fastest"
        : names.differ_in("layout") || names.differ_in("micro-batches") ? "the first row"
                                                                        : comparison.references.front().strategy);
  if (!options.empty()) text += "\noptions of all rows: " + options_text(options);
  return text;
}

// Those of each strategy, once where it has the same everywhere.
std::string options_by_strategy(const std::vector<Outcome>& outcomes, const std::vector<NamedValues>& options,
                                const Screen& screen) {
  std::vector<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const std::pair one(std::string(outcomes[i].scenario.strategy->name), options_text(options[i]));
    if (!one.second.empty() && std::find(seen.begin(), seen.end(), one) == seen.end()) seen.push_back(one);
  }
  if (seen.empty()) return "";
  Table table({"strategy", "options"});
  for (const auto& [strategy, text] : seen) table.add({strategy, text});
  return "\n" + table.text(screen);
}

}  // namespace

namespace {

// A group's rows, race by race, the winner first.
struct GroupRows {
  std::vector<std::size_t> order;
  std::vector<ResultNumbers> rows;
};

GroupRows rows_of(const Comparison& comparison, const OutcomeGroup& group, bool& per_sample) {
  const auto& [outcomes, references, rule, by_offer] = comparison;
  GroupRows made;
  for (const Ranking& race : races(outcomes, rule, group)) {
    per_sample = per_sample || differ_in_samples(race, outcomes);
    for (std::size_t i = 0; i < race.order.size(); ++i) {
      const std::size_t place = race.order[i];
      const auto& [scenario, result, wall_s] = outcomes[place];
      const bool tied = i < race.tied && race.order.size() > 1;
      made.order.push_back(place);
      made.rows.push_back({.metrics = result.metrics,
                           .speed = speed_per_gpu(scenario, result.metrics),
                           .relative_efficiency = references[place].relative(outcomes[place]),
                           .memory_bytes = result.memory.peak,
                           .fits = fits(scenario, result),
                           .wins = tied && i == 0,
                           .ties = tied && i > 0,
                           .bubble_s = bubble_of(result),
                           .roomy = leaves_room(free_share(scenario.options.memory.limit, result.memory.peak), rule)});
    }
  }
  return made;
}

// The columns that tell rows apart.
std::vector<std::string> keys_of(const ScenarioLabels& names) {
  std::vector<std::string> keys;
  for (const std::string_view key :
       {"workers", "layout", "micro-batches", "strategy", "cluster", "collective", "fidelity", "codec"})
    if (key == "strategy" || names.differ_in(key)) keys.emplace_back(key);
  return keys;
}

// What is shown of all groups alike.
struct ShownColumns {
  const ScenarioLabels& names;
  std::vector<std::string> keys;
  NumberColumns numbers;
  bool pipelined = false;

  bool narrow() const { return keys.size() > 1; }  // the names need the room
};

std::string table_of(const GroupRows& group, const ShownColumns& shown, const std::vector<NamedValues>& options,
                     const Screen& screen) {
  const auto name_of = [&](std::size_t place, const std::string& key) {
    const std::string& name = shown.names.name(place, key);
    if (key != "layout" || !shown.pipelined || name.starts_with("pp ")) return name;
    return name.empty() ? "pp 1" : "pp 1, " + name;
  };
  const auto& [order, rows] = group;
  std::vector<TableColumn> columns(shown.keys.begin(), shown.keys.end());
  for (TableColumn& column : number_columns(rows, shown.numbers)) columns.push_back(std::move(column));
  if (!shown.narrow()) columns.emplace_back("options");
  Table table(columns, shown.keys.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<TableCell> row;
    for (const std::string& key : shown.keys)
      row.push_back(
          TableCell(name_of(order[i], key)).with(key == "strategy" && rows[i].wins ? Tone::Best : Tone::Plain));
    for (TableCell& cell : number_cells(rows[i], shown.numbers)) row.push_back(std::move(cell));
    if (!shown.narrow()) row.emplace_back(options_text(options[order[i]]));
    table.add(std::move(row));
  }
  return table.text(screen);
}

}  // namespace

std::string compare_report(const Comparison& comparison, const Screen& screen) {
  const auto& [outcomes, references, rule, by_offer] = comparison;
  const ScenarioLabels names = labels_of(outcomes);
  const std::vector<OutcomeGroup> groups = groups_of(outcomes, rule, by_offer);
  bool per_sample = false;
  std::vector<GroupRows> tables;
  std::vector<ResultNumbers> rows;
  for (const OutcomeGroup& group : groups) {
    tables.push_back(rows_of(comparison, group, per_sample));
    for (const ResultNumbers& one : tables.back().rows) rows.push_back(one);
  }
  ShownColumns shown{.names = names, .keys = keys_of(names), .numbers = {}};
  shown.pipelined = std::any_of(outcomes.begin(), outcomes.end(),
                                [](const Outcome& one) { return one.scenario.options.parallel.pipeline(); });
  const auto workers = reference_workers(comparison);
  const auto any = [&](const auto& has) { return std::any_of(rows.begin(), rows.end(), has); };
  shown.numbers = {
      .reference_workers = workers.size() == 1 ? workers.front() : 1,
      .memory = shows_memory(outcomes),
      .bubble = any([](const auto& row) { return row.bubble_s.has_value(); }),
      .stragglers = have_stragglers(rows),
      .samples = shown.narrow() && (per_sample || names.differ_in("workers")),
      .speed = !shown.narrow() || any([](const auto& row) { return row.speed.tokens_per_s || row.speed.mfu; }),
      .all = !shown.narrow()};
  const std::vector<NamedValues> options = apart_from_common(outcomes, names);
  std::string text = wrapped(heading(comparison, names, options.back()), screen.width) + "\n";
  for (std::size_t i = 0; i < groups.size(); ++i)
    text +=
        (groups[i].title.empty() ? "\n" : "\n" + groups[i].title + ":\n") + table_of(tables[i], shown, options, screen);
  std::string chosen;
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (const std::string schedule = chosen_schedule(outcomes[i]); !schedule.empty())
      chosen += fmt::format("{}: {}.\n", names.label(i), schedule);
  const std::string notes = marks_note(rows, rule) + limit_note(outcomes.front(), shows_memory(outcomes)) +
                            efficiency_note(outcomes, references) + doubts(outcomes) +
                            caveat(outcomes.front().scenario.profile);
  const std::string said = wrapped(chosen, screen.width) + wrapped(verdict(outcomes, rule, groups), screen.width);
  return text + (shown.narrow() ? options_by_strategy(outcomes, options, screen) : "") +
         wrapped(notes, screen.width, 2) + (said.empty() ? "" : "\n" + said);
}

}  // namespace allreplay
