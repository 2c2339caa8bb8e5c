#include "sim/output/report/sweep_report.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/base/core/units.hpp"
#include "sim/output/report/notes.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/output/report/scenario_labels.hpp"
#include "sim/output/report/verdict.hpp"

namespace allreplay {

namespace {

Names names_of(const ResultRow& row) {
  const std::string names[] = {row.profile,
                               std::to_string(row.workers),
                               layout_text(row.options),
                               micro_batches_text(row.options),
                               row.strategy,
                               row.network,
                               row.collective,
                               row.fidelity,
                               row.codec.empty() ? "none" : row.codec};
  Names named;
  for (std::size_t i = 0; i < std::size(named_by); ++i) named.emplace_back(named_by[i], names[i]);
  return named;
}

// `of_each_row`: labels are needed for every row. Otherwise rows that only repeat known differences are left out.
ScenarioLabels labels_of(const SweepResult& result, bool of_each_row) {
  std::vector<Names> names{names_of(result.rows.front())};
  std::set<std::size_t> differing;
  for (std::size_t row = 1; row < result.rows.size(); ++row) {
    Names one = names_of(result.rows[row]);
    bool is_needed = of_each_row;
    for (std::size_t i = 0; i < one.size(); ++i)
      if (one[i] != names.front()[i]) is_needed |= differing.insert(i).second;
    if (is_needed) names.push_back(std::move(one));
  }
  return ScenarioLabels(std::move(names));
}

std::vector<Standing> standings_of(const SweepResult& result) {
  std::vector<Standing> all;
  for (const ResultRow& row : result.rows)
    all.push_back({.fits = row.fits, .is_roomy = leaves_room(row.free_memory(), result.rule)});
  for (const ResultGroup& group : result.groups)
    for (const auto& [workers, race] : group.by_workers)
      for (std::size_t i = 0; i < race.tied && race.rows.size() > 1; ++i)
        (i == 0 ? all[race.rows[i]].wins : all[race.rows[i]].ties) = true;
  return all;
}

// A cell of the CSV; null if it is empty.
JsonValue value_of(const std::string& column, std::string_view text, const SourceLocation& place) {
  if (text.empty()) return nullptr;
  const Column* known = find_column(column);
  return known && known->is_number() ? JsonValue(parse_number(text, place)) : JsonValue(text);
}

NamedValues without(NamedValues options, const NamedValues& common) {
  std::erase_if(options, [&](const auto& one) { return std::find(common.begin(), common.end(), one) != common.end(); });
  return options;
}

JsonValue rows_of(const SweepResult& result, const ScenarioLabels& labels) {
  const std::vector<Standing> standings = standings_of(result);
  NamedValues common = result.rows.front().options;
  std::set<Names> names;
  for (const ResultRow& row : result.rows) {
    common = without(common, without(common, row.options));
    names.insert(names_of(row));
  }
  const bool is_ambiguous = names.size() < result.rows.size();  // options distinguish rows, too
  std::set<std::string> shown = keys_of({{sweep_table()}});     // a large sweep has many other cells
  shown.insert({"iteration_s", "lower_bound_s"});
  auto rows = JsonValue::array();
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const ResultRow& row = result.rows[i];
    auto json = JsonValue::object();
    for (std::size_t cell = 0; cell < row.cells.size(); ++cell)
      if (const std::string& column = result.columns[cell]; shown.contains(column))
        json[column] = value_of(column, row.cells[cell], {result.file, fmt::format("line {}: {}", row.line, column)});
    json["relative_efficiency"] = row.relative_efficiency;
    add_names(json, labels, i);
    add_standing(json, standings[i]);
    if (is_ambiguous) json["own_options"] = json_of(without(row.options, common));
    rows.push_back(std::move(json));
  }
  return rows;
}

Racer racer_of(const ResultRow& row) {
  return {.name = row.series,
          .iteration_s = row.iteration_s,
          .batches_per_s = row.batches / row.iteration_s,
          .samples_per_s = row.samples_per_s,
          .lower_bound_s = row.lower_bound_s,
          .equal_work_s = row.seconds_of_equal_work(),
          .fits = row.fits,
          .doubted_s = row.doubted_s,
          .doubted_equal_work_s = row.doubted_s ? std::optional(*row.doubted_s / row.batches) : std::nullopt};
}

// Names a group by the settings that its rows share: "resnet50_k80_b16 on k80-10gbe, ring".
std::string name_of(const SweepResult& result, const ResultGroup& group) {
  const ResultRow& first = result.rows[group.rows.front()];
  const bool one_collective = std::all_of(group.rows.begin(), group.rows.end(), [&](std::size_t row) {
    return result.rows[row].collective == first.collective;
  });
  return fmt::format("{} on {}{}", first.profile, first.network, one_collective ? ", " + first.collective : "");
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
    document["races"].push_back(std::move(verdict));
    if (!ranked.empty()) ++wins[ranked.front().name];
  }
  std::vector<std::pair<std::string, int>> sorted(wins.begin(), wins.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (result.groups.size() > 1)
    for (const auto& [series, count] : sorted) document["wins"].push_back({{"series", series}, {"groups", count}});
}

}  // namespace

JsonValue sweep_document(const SweepResult& result, bool with_rows) {
  const ScenarioLabels labels = labels_of(result, with_rows);
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
  std::map<std::string, std::string> origin_by_profile;
  for (const ResultRow& row : result.rows) origin_by_profile[row.profile] = row.origin;
  document["groups"] = result.groups.size();
  add_races(result, document);
  add_notes_on_marks(document["notes"], document["rows"], result.rule);
  append(document["notes"], notes_on_origins(origin_by_profile));
  return document;
}

ViewTable sweep_table() {
  ViewTable table = result_table("rows");
  table.columns.push_back({"options", "{own_options}"});
  return table;
}

const View& sweep_table_view() {
  static const View view{{ViewText{"{same}", "same"}, ViewText{}, sweep_table()}};
  return view;
}

const View& sweep_verdict_view() {
  static const View view{{
      ViewText{},
      ViewList{"wins", "{series} wins {groups} of {/groups}", "", 6},
      &verdict_view(),
      ViewNotes{},
  }};
  return view;
}

}  // namespace allreplay
