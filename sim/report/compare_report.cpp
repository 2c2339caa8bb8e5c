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
    options.push_back(options_that_matter(one.scenario));
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
  text += fmt::format("\n{}forward {}, backward {}, {} of gradients", several ? "a micro-batch: " : "",
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

std::string compare_report(const Comparison& comparison, const Screen& screen) {
  const auto& [outcomes, references, rule] = comparison;
  const ScenarioLabels names = labels_of(outcomes);
  std::vector<std::string> keys;  // what tells a row
  for (const std::string_view key :
       {"workers", "layout", "micro-batches", "strategy", "cluster", "collective", "fidelity", "codec"})
    if (key == "strategy" || names.differ_in(key)) keys.emplace_back(key);
  std::vector<std::size_t> order;
  std::vector<ResultNumbers> rows;
  bool per_sample = false;
  for (const Ranking& race : races(outcomes, rule)) {
    per_sample = per_sample || differ_in_samples(race, outcomes);
    for (std::size_t i = 0; i < race.order.size(); ++i) {
      const std::size_t place = race.order[i];
      const auto& [scenario, result, wall_s] = outcomes[place];
      const bool tied = i < race.tied && race.order.size() > 1;
      order.push_back(place);
      rows.push_back({result.metrics, speed_per_gpu(scenario, result.metrics),
                      references[place].relative(outcomes[place]), result.memory.peak, fits(scenario, result),
                      tied && i == 0, tied && i > 0, bubble_of(result), fits_tightly(scenario, result.memory.peak)});
    }
  }
  const bool narrow = keys.size() > 1;  // the names need the room
  const bool pipelined = std::any_of(outcomes.begin(), outcomes.end(),
                                     [](const Outcome& one) { return one.scenario.options.parallel.pipeline(); });
  const auto name_of = [&](std::size_t place, const std::string& key) {
    const std::string& name = names.name(place, key);
    if (key != "layout" || !pipelined || name.starts_with("pp ")) return name;
    return name.empty() ? "pp 1" : "pp 1, " + name;
  };
  const auto workers = reference_workers(comparison);
  const NumberColumns shown{
      .reference_workers = workers.size() == 1 ? workers.front() : 1,
      .memory = shows_memory(outcomes),
      .bubble = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.bubble_s.has_value(); }),
      .samples = narrow && per_sample,
      .all = !narrow};
  std::vector<TableColumn> columns(keys.begin(), keys.end());
  for (TableColumn& column : number_columns(rows, shown)) columns.push_back(std::move(column));
  if (!narrow) columns.emplace_back("options");
  Table table(columns, keys.size());
  const std::vector<NamedValues> options = apart_from_common(outcomes, names);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<TableCell> row;
    for (const std::string& key : keys)
      row.push_back(
          TableCell(name_of(order[i], key)).with(key == "strategy" && rows[i].wins ? Tone::Best : Tone::Plain));
    for (TableCell& cell : number_cells(rows[i], shown)) row.push_back(std::move(cell));
    if (!narrow) row.emplace_back(options_text(options[order[i]]));
    table.add(std::move(row));
  }
  std::string chosen;
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (const std::string schedule = chosen_schedule(outcomes[i]); !schedule.empty())
      chosen += fmt::format("{}: {}.\n", names.label(i), schedule);
  const std::string notes = marks_note(rows, rule.tie) + limit_note(outcomes.front(), shows_memory(outcomes)) +
                            efficiency_note(outcomes, references) + doubts(outcomes) +
                            caveat(outcomes.front().scenario.profile);
  const std::string said = wrapped(chosen, screen.width) + wrapped(verdict(outcomes, rule), screen.width);
  return wrapped(heading(comparison, names, options.back()), screen.width) + "\n\n" + table.text(screen) +
         (narrow ? options_by_strategy(outcomes, options, screen) : "") + wrapped(notes, screen.width, 2) +
         (said.empty() ? "" : "\n" + said);
}

}  // namespace allreplay
