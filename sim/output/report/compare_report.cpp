#include "sim/output/report/compare_report.hpp"

#include <algorithm>
#include <cmath>

#include "sim/output/report/notes.hpp"
#include "sim/output/report/report.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/output/report/verdict.hpp"
#include "sim/replay/training/memory.hpp"

namespace allreplay {

namespace {

// True if a column of the table shows the option.
bool has_a_column(std::string_view option, const ScenarioLabels& labels) {
  if (option == "accumulate") return labels.differs_by("micro-batches");
  constexpr std::string_view layout[] = {"pp", "tp", "cp", "ep", "schedule", "chunks", "shard_group"};
  return labels.differs_by("layout") && std::find(std::begin(layout), std::end(layout), option) != std::end(layout);
}

// Adds the options that the rows share to the document, and to each row its others.
void add_options(const std::vector<Outcome>& outcomes, const ScenarioLabels& labels, JsonValue& document,
                 JsonValue& rows) {
  std::vector<NamedValues> options;
  for (const Outcome& one : outcomes) {
    options.push_back(options_to_show(one.scenario));
    std::erase_if(options.back(), [&](const auto& option) { return has_a_column(option.first, labels); });
  }
  const NamedValues common = common_options(options);
  document["options"] = json_of(common);
  for (std::size_t i = 0; i < options.size(); ++i) rows[i]["own_options"] = json_of(without(options[i], common));
}

JsonValue group_json(const Comparison& comparison, const OutcomeGroup& group, const ScenarioLabels& labels,
                     const JsonValue& all_rows) {
  const auto& [outcomes, references, rule, by_offer, training, over_best, misfit] = comparison;
  JsonValue json{{"rows", JsonValue::array()}};
  if (!group.title.empty()) json["group"] = group.title;
  for (const Ranking& race : races(outcomes, rule, group))
    for (std::size_t i = 0; i < race.order.size(); ++i) {
      const std::size_t place = race.order[i];
      JsonValue row = all_rows[place];
      add_names(row, labels, place);
      if (place < over_best.size() && over_best[place])
        row["may_be_chance"] = std::abs(over_best[place]->mean) <= *over_best[place]->confidence;
      add_marks(row, outcomes[place], rule, i > 0 && i < race.tied);
      json["rows"].push_back(std::move(row));
    }
  return json;
}

// The cheapest outcomes, of maintained frameworks if there is one; nothing if fidelities differ.
std::optional<Cheapest> cheapest_of(const Comparison& comparison) {
  const auto& [outcomes, references, rule, by_offer, training, over_best, misfit] = comparison;
  const std::vector<std::size_t> places = groups_of(outcomes, rule, by_offer).front().places;
  std::vector<const Outcome*> some;
  for (const std::size_t one : places) {
    if (outcomes[one].result.fidelity != outcomes[places.front()].result.fidelity) return std::nullopt;
    some.push_back(&outcomes[one]);
  }
  const auto chosen = cheapest(training, some, rule);
  return chosen ? std::optional(Cheapest{places[chosen->least], places[chosen->rather]}) : std::nullopt;
}

// The table of a group, followed by the costs of a training.
ViewTable group_table() {
  ViewTable table = result_table();
  const auto after_interval = std::ranges::find(table.columns, title_of(column_of("ci95_s")), &ViewColumn::title) + 1;
  const ViewColumn over_best[] = {quantity("{over_best_s}", "iteration_s", "? may_be_chance"),
                                  interval("{over_best_ci95_s}", "iteration_s")};
  table.columns.insert(after_interval, std::begin(over_best), std::end(over_best));
  const std::vector<ViewColumn> more = training_columns();
  table.columns.insert(table.columns.end() - 1, more.begin(), more.end());  // before the options
  return table;
}

}  // namespace

std::vector<std::optional<Summary>> differences_from_fastest(const Comparison& comparison) {
  const std::vector<Outcome>& outcomes = comparison.outcomes;
  std::vector<std::optional<Summary>> differences(outcomes.size());
  for (const OutcomeGroup& group : groups_of(outcomes, comparison.rule, comparison.by_offer))
    for (const Ranking& race : races(outcomes, comparison.rule, group)) {
      if (samples_differ(race, outcomes)) continue;
      const std::size_t best = *std::ranges::min_element(
          race.order, {}, [&](std::size_t one) { return outcomes[one].result.metrics.iteration_s; });
      for (const std::size_t one : race.order)
        if (one != best)
          differences[one] = paired_difference(outcomes[one].result.by_seed, outcomes[best].result.by_seed);
    }
  return differences;
}

void append_paired(Row& row, const Comparison& comparison, std::size_t place) {
  if (comparison.outcomes[place].result.by_seed.size() < 2) return;
  const std::optional<Summary>& over = comparison.over_best[place];
  row.emplace_back("over_best_s", over ? Cell(over->mean) : Cell());
  row.emplace_back("over_best_ci95_s", over ? Cell(*over->confidence) : Cell());
}

JsonValue compare_json(const Comparison& comparison) {
  auto rows = JsonValue::array();
  for (std::size_t i = 0; i < comparison.outcomes.size(); ++i) {
    Row row = row_with_reference(comparison.outcomes[i], comparison.references[i]);
    append_cost(row, comparison.training, comparison.outcomes[i]);
    append_paired(row, comparison, i);
    rows.push_back(json_of(row));
    rows.back()["doubted_iteration_s"] = comparison.outcomes[i].result.doubted_s;
  }
  return rows;
}

JsonValue compare_document(const Comparison& comparison) {
  const auto& [outcomes, references, rule, by_offer, training, over_best, misfit] = comparison;
  const auto& [scenario, result, wall_s] = outcomes.front();
  const ScenarioLabels labels = labels_of(outcomes);
  const std::vector<OutcomeGroup> groups = groups_of(outcomes, rule, by_offer);
  JsonValue rows = compare_json(comparison);
  JsonValue document{{"title", labels.title()},
                     {"forward_s", result.metrics.forward_s},
                     {"backward_s", result.metrics.backward_s},
                     {"gradient_bytes", scenario.profile->bytes()},
                     {"codec", codec_text(scenario)},
                     {"groups", JsonValue::array()},
                     {"races", verdicts_of(outcomes, rule, groups)},
                     {"schedules", JsonValue::array()},
                     {"notes", JsonValue::array()}};
  add_options(outcomes, labels, document, rows);
  if (labels.differ_only_by_strategy()) {
    const LeastBounds bounds = least_bounds(outcomes);
    document["lower_bound_s"] = bounds.any;
    document["sharded_lower_bound_s"] = bounds.sharded;
  }
  add_references(document, rows, references);
  for (const OutcomeGroup& group : groups) {
    document["groups"].push_back(group_json(comparison, group, labels, rows));
    add_notes_on_marks(document["notes"], document["groups"].back().at("rows"), rule, document["races"]);
    for (const auto& over : over_best)
      if (over) {
        document["notes"].push_back({{"note", "paired"}, {"seeds", over->count}});
        break;
      }
  }
  append(document["notes"], notes_on(outcomes, references));
  if (const auto chosen = cheapest_of(comparison)) {
    const auto named = [&](std::size_t place) {
      return NamedCost{labels.label(place), cost_of(comparison.training, comparison.outcomes[place])};
    };
    document["cheapest"] = cheapest_json(named(chosen->least), named(chosen->rather));
  }
  if (misfit) {
    document["smallest"] = {{"name", labels.label(misfit->place)},
                            {"memory_bytes", outcomes[misfit->place].result.memory.peak}};
    document["remedy"] = remedy_json(misfit->remedy);
  }
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (const std::string schedule = chosen_schedule(outcomes[i]); !schedule.empty())
      document["schedules"].push_back({{"name", labels.label(i)}, {"schedule", schedule}});
  return document;
}

const View& compare_view() {
  static const View group{{ViewText{"{group}:"}, group_table()}};
  static const View view{{
      ViewText{"{title}"},
      ViewText{"{codec}", "codec"},
      ViewText{"a micro-batch: forward {forward_s}, backward {backward_s}, {gradient_bytes} of gradients"},
      ViewText{"lower bound without shards {lower_bound_s}"},
      ViewText{"lower bound with shards, at least {sharded_lower_bound_s}"},
      &reference_view(),
      ViewText{"options of all rows: {options}", "options"},
      ViewEach{"groups", &group},
      ViewNotes{},
      ViewList{"schedules", "{name}: {schedule}."},
      &verdict_view(),
      ViewText{
          "The smallest, {smallest/name}, needs {smallest/memory_bytes}[; with {remedy/flags:words} a worker needs "
          "{remedy/memory_bytes}, which fits]."},
      cheapest_text(),
  }};
  return view;
}

}  // namespace allreplay
