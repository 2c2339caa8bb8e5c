#include "sim/output/report/sweep_report.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/units.hpp"
#include "sim/output/report/notes.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/output/report/verdict.hpp"
#include "sim/studies/results/scenario_labels.hpp"

namespace allreplay {

namespace {

Names names_of(const ResultRow& row) {
  const NamedValues options = row.options();
  return {
      std::string(row.profile),    std::to_string(row.workers), layout_text(options),
      micro_batches_text(options), std::string(row.strategy),   std::string(row.network),
      std::string(row.collective), std::string(row.fidelity),   row.codec.empty() ? "none" : std::string(row.codec)};
}

// Adds to the strategies of rows that have all names in common the options in which they differ: "fsdp2
// (shard_group=8)".
void tell_apart(const SweepResult& result, std::vector<Names>& names) {
  std::map<Names, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < names.size(); ++i) alike[names[i]].push_back(i);
  for (const auto& [name, rows] : alike) {
    std::vector<NamedValues> options;
    for (const std::size_t row : rows) options.push_back(result.rows[row].options());
    const NamedValues common = common_options(options);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<std::string> own;
      for (const auto& [option, value] : without(options[i], common))
        own.push_back(fmt::format("{}={}", option, value));
      if (!own.empty()) names[rows[i]][named_by_strategy] += fmt::format(" ({})", fmt::join(own, ", "));
    }
  }
}

ScenarioLabels labels_of(const SweepResult& result) {
  std::vector<Names> names;
  for (const ResultRow& row : result.rows) names.push_back(names_of(row));
  tell_apart(result, names);
  return ScenarioLabels(std::move(names));
}

// The rows that tie with the winner of their race.
std::set<std::size_t> ties_of(const SweepResult& result) {
  std::set<std::size_t> ties;
  for (const ResultGroup& group : result.groups)
    for (const auto& [workers, race] : group.by_workers)
      for (std::size_t i = 1; i < race.tied; ++i) ties.insert(race.rows[i]);
  return ties;
}

// A cell of the CSV; null if it is empty.
JsonValue value_of(const std::string& column, std::string_view text, const SourceLocation& place) {
  if (text.empty()) return nullptr;
  const Column* known = find_column(column);
  return known && known->is_number() ? JsonValue(parse_number(text, place)) : JsonValue(text);
}

// Options have no column: those that tell rows apart are in their names.
ViewTable table_of_rows() {
  ViewTable table = result_table();
  std::erase_if(table.columns, [](const ViewColumn& column) { return column.title == "options"; });
  return table;
}

JsonValue rows_of(const SweepResult& result, const ScenarioLabels& labels) {
  const std::set<std::size_t> ties = ties_of(result);
  std::set<std::string> shown = keys_of({{table_of_rows()}});  // a large sweep has many other cells
  shown.insert({"iteration_s", "lower_bound_s"});
  auto rows = JsonValue::array();
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const ResultRow& row = result.rows[i];
    auto json = JsonValue::object();
    const std::vector<std::string_view> cells = row.line->cells.all();
    for (std::size_t cell = 0; cell < cells.size(); ++cell)
      if (const std::string& column = result.table->columns[cell]; shown.contains(column))
        json[column] = value_of(column, cells[cell], result.table->place_of(*row.line, column));
    json["relative_efficiency"] = row.relative_efficiency;
    add_names(json, labels, i);
    add_marks(json, row.fits(), ties.contains(i), row.free_memory, result.rule);
    rows.push_back(std::move(json));
  }
  return rows;
}

Racer racer_of(const ResultRow& row) {
  return {.name = std::string(row.series),
          .iteration_s = row.iteration_s,
          .batches_per_s = row.batches / row.iteration_s,
          .samples_per_s = row.samples_per_s,
          .lower_bound_s = row.lower_bound_s,
          .equal_work_s = row.seconds_of_equal_work(),
          .fits = row.fits(),
          .doubted_s = row.doubted_s};
}

// Names a group by the settings that its rows share: "resnet50_k80_b16 on k80-10gbe, ring".
std::string name_of(const SweepResult& result, const ResultGroup& group) {
  const ResultRow& first = result.rows[group.rows.front()];
  const bool one_collective = std::all_of(group.rows.begin(), group.rows.end(), [&](std::size_t row) {
    return result.rows[row].collective == first.collective;
  });
  return fmt::format("{} on {}{}", first.profile, first.network,
                     one_collective ? fmt::format(", {}", first.collective) : "");
}

// The winners of a group's numbers of workers, in runs of one winner each ("": nothing fits); nothing if there is one.
JsonValue winners_by_workers(const SweepResult& result, const ResultGroup& group) {
  auto runs = JsonValue::array();
  for (const auto& [workers, race] : group.by_workers) {
    const std::string winner(race.rows.empty() ? "" : result.rows[race.rows.front()].series);
    if (runs.empty() || runs.back()["winner"] != winner)
      runs.push_back({{"winner", winner}, {"from", workers}, {"to", workers}});
    runs.back()["to"] = workers;
  }
  return runs.size() > 1 ? runs : JsonValue();
}

void add_races(const SweepResult& result, JsonValue& document) {
  std::map<std::string, int> wins;
  for (const ResultGroup& group : result.groups) {
    const auto& [workers, race] = *group.by_workers.rbegin();
    JsonValue verdict{{"group", name_of(result, group)}, {"workers", workers}};
    std::vector<Racer> ranked;
    for (const std::size_t row : race.rows) ranked.push_back(racer_of(result.rows[row]));
    std::optional<Doubt> doubt;
    if (result.rule.doubt && race.nodes > 1) doubt = Doubt{*result.rule.doubt, race.nodes, result.rule.tie};
    verdict.update(verdict_of(ranked, race.tied, race.per_sample, doubt));
    if (JsonValue winners = winners_by_workers(result, group); !winners.is_null())
      verdict["by_workers"] = std::move(winners);
    document["races"].push_back(std::move(verdict));
    if (!ranked.empty()) ++wins[ranked.front().name];
  }
  std::vector<std::pair<std::string, int>> sorted(wins.begin(), wins.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (result.groups.size() > 1)
    for (const auto& [series, count] : sorted) document["wins"].push_back({{"series", series}, {"groups", count}});
}

// True if the sweep has seeds, and no row differs among them.
bool is_without_chance(const SweepResult& result) {
  return result.table->has("sd_s") && std::ranges::all_of(result.rows, [&](const ResultRow& row) {
           return result.table->text(*row.line, "sd_s") == "0";
         });
}

// The reference of each row: that of its group.
std::vector<ScalingReference> references_of(const SweepResult& result) {
  std::vector<ScalingReference> references(result.rows.size());
  for (const ResultGroup& group : result.groups)
    for (const std::size_t row : group.rows) {
      references[row].workers = group.reference_workers;
      references[row].replica_workers = group.replica_workers;
    }
  return references;
}

}  // namespace

JsonValue sweep_document(const SweepResult& result, bool with_rows, const std::map<std::string, NearestError>& errors) {
  const ScenarioLabels labels = labels_of(result);
  JsonValue document{{"rows", with_rows ? rows_of(result, labels) : JsonValue::array()},
                     {"same", JsonValue::object()},
                     {"races", JsonValue::array()},
                     {"wins", JsonValue::array()},
                     {"notes", JsonValue::array()}};
  for (const std::string_view name : named_by) {
    const std::string& value = labels.name(0, name);
    const bool is_default = value.empty() || value == "none" || (name == "micro-batches" && value == "1");
    if (!labels.differs_by(name) && !is_default) document["same"][name] = value;
  }
  std::map<std::string, TimesOfProfile> times_by_profile;
  for (const ResultRow& row : result.rows) times_by_profile[std::string(row.profile)].origin = row.origin;
  for (const auto& [profile, error] : errors) times_by_profile[profile].error = error;
  document["groups"] = result.groups.size();
  if (with_rows) add_references(document, document["rows"], references_of(result));
  add_races(result, document);
  add_notes_on_marks(document["notes"], document["rows"], result.rule, document["races"]);
  if (is_without_chance(result)) document["notes"].push_back({{"note", "nothing random"}});
  append(document["notes"], notes_on_origins(times_by_profile));
  return document;
}

const View& sweep_table_view() {
  static const View view{{ViewText{"{same}", "same"}, &reference_view(), table_of_rows()}};
  return view;
}

const View& sweep_verdict_view() {
  static const View view{{
      ViewList{"wins", "{series} wins {groups} of {/groups}, each on its most workers", "", 6},
      &verdict_view(),
      ViewNotes{},
  }};
  return view;
}

}  // namespace allreplay
