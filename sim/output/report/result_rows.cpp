#include "sim/output/report/result_rows.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "sim/replay/training/memory.hpp"

namespace allreplay {

void add_marks(JsonValue& row, bool fits, bool ties, const std::optional<double>& free, const WinningRule& rule) {
  if (row.contains("lower_bound_s") && !row["lower_bound_s"].is_null())
    row["above_bound_share"] = row["iteration_s"].get<double>() / row["lower_bound_s"].get<double>() - 1;
  row["fits"] = fits;
  row["ties"] = ties;
  row["tight"] = fits && !leaves_room(free, rule);
}

void add_marks(JsonValue& row, const Outcome& outcome, const WinningRule& rule, bool ties) {
  const auto& [scenario, result, wall_s] = outcome;
  add_marks(row, fits(scenario, result), ties, free_share(scenario.options.memory.limit, result.memory.peak), rule);
}

void add_note_on_misfits(JsonValue& notes, const JsonValue& rows) {
  if (std::ranges::any_of(rows, [](const JsonValue& row) { return !row.at("fits").get<bool>(); }))
    notes.push_back({{"note", "does not fit"}});
}

void add_notes_on_marks(JsonValue& notes, const JsonValue& rows, const WinningRule& rule, const JsonValue& races) {
  const auto any = [&](const char* mark, bool value) {
    return std::any_of(rows.begin(), rows.end(), [&](const JsonValue& row) { return row.at(mark) == value; });
  };
  if (any("ties", true)) notes.push_back({{"note", "tie"}, {"tie", rule.tie}});
  for (const JsonValue& race : races)
    if (race.contains("tie_bandwidth_share") && any("ties", true)) {
      notes.back()["bandwidth_share"] = race.at("tie_bandwidth_share");
      break;
    }
  if (any("tight", true)) notes.push_back({{"note", "headroom"}, {"headroom", rule.headroom}});
  add_note_on_misfits(notes, rows);
}

ViewColumn quantity(const std::string& hole, std::string_view like, std::string sign) {
  const std::string key = hole.substr(1, hole.find_first_of(":}") - 1);
  return {title_of(column_of(key)), hole, like.empty() ? "" : title_of(column_of(like)), std::move(sign)};
}

ViewColumn interval(const std::string& hole, std::string_view like) {
  ViewColumn column = quantity(hole, like);
  column.is_finer = true;
  return column;
}

NamedValues without(NamedValues options, const NamedValues& others) {
  std::erase_if(options, [&](const auto& one) { return std::find(others.begin(), others.end(), one) != others.end(); });
  return options;
}

NamedValues common_options(const std::vector<NamedValues>& all) {
  NamedValues common = all.front();
  for (const NamedValues& one : all) common = without(common, without(common, one));
  return common;
}

void add_references(JsonValue& document, JsonValue& rows, const std::vector<ScalingReference>& references) {
  const ScalingReference& first = references.front();
  const auto all_have = [&](const auto& part) {
    return std::ranges::all_of(references,
                               [&](const auto& one) { return std::invoke(part, one) == std::invoke(part, first); });
  };
  if (all_have(&ScalingReference::in_words)) {
    document["relative_to"] = first.in_words();
    if (first.workers > 1 && !first.strategy.empty() && all_have(&ScalingReference::strategy))
      document["reference_strategy"] = first.strategy;
    return;
  }
  for (std::size_t i = 0; i < references.size(); ++i) rows[i]["own_relative_to"] = references[i].in_words();
}

const View& reference_view() {
  static const View view{{
      ViewText{"scaling eff.: per GPU, relative to {reference_strategy} on {relative_to}, the fewest that it fits on",
               "reference_strategy"},
      ViewText{"scaling eff.: per GPU, relative to {relative_to}", "relative_to !reference_strategy"},
  }};
  return view;
}

ViewTable result_table() {
  std::vector<ViewColumn> columns;
  for (const std::string_view name : named_by)
    columns.push_back({std::string(name), fmt::format("{{names/{}}}", name)});
  const ViewColumn numbers[] = {
      quantity("{iteration_s}", "", "~ ties"),
      interval("{ci95_s}", "iteration_s"),
      quantity("{exposed_comm_s}", "iteration_s"),
      quantity("{straggler_s:nonzero}", "iteration_s"),
      quantity("{bubble_s:nonzero}", "iteration_s"),
      quantity("{relative_efficiency}"),
      {"relative to", "{own_relative_to}"},
      quantity("{above_bound_share}"),
      quantity("{memory_bytes}", "", "! !fits|* tight"),
      quantity("{samples_per_s}"),
      quantity("{tokens_per_s_per_gpu:0}"),
      quantity("{mfu}"),
      {"options", "{own_options}"},
  };
  columns.insert(columns.end(), std::begin(numbers), std::end(numbers));
  return {.rows = "rows", .columns = std::move(columns), .keys = std::size(named_by)};
}

std::vector<ViewColumn> training_columns() {
  return {{"training", "{training_s:long}"},
          {"GPU-hours", "{gpu_hours:grouped}"},
          {"cost ($)", "{cost_usd:grouped}"},
          {"energy (kWh)", "{energy_kwh:grouped}"}};
}

std::string training_text(const std::string& prefix) {
  return fmt::format(
      "{{{0}training_s:long}}, {{{0}gpu_hours:grouped}} GPU-hours[, ${{{0}cost_usd:grouped}}][, "
      "{{{0}energy_kwh:grouped}} kWh]",
      prefix);
}

JsonValue cost_json(const TrainingCost& cost) {
  Row row;
  append_cost(row, cost);
  return json_of(row);
}

ViewText cheapest_text() {
  return {
      "Cheapest: {cheapest/name}: ${cheapest/cost_usd:grouped} in {cheapest/training_s:long}[. For "
      "{cheapest/rather/more_share} more: {cheapest/rather/name}, in {cheapest/rather/training_s:long}]."};
}

JsonValue remedy_json(const std::optional<MemoryRemedy>& remedy) {
  if (!remedy) return {};
  return {{"flags", remedy->flags}, {"memory_bytes", remedy->bytes}};
}

JsonValue cheapest_json(const NamedCost& least, const NamedCost& rather) {
  const auto json_of = [](const NamedCost& one) -> JsonValue {
    return {{"name", one.name}, {"cost_usd", one.cost.usd}, {"training_s", one.cost.seconds}};
  };
  JsonValue json = json_of(least);
  if (rather.name == least.name) return json;
  json["rather"] = json_of(rather);
  json["rather"]["more_share"] = *rather.cost.usd / *least.cost.usd - 1;
  return json;
}

}  // namespace allreplay
