#include "sim/output/report/jobs_sweep_report.hpp"

#include <algorithm>
#include <map>

#include "sim/output/report/notes.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/studies/jobs/jobs_sweep.hpp"

namespace allreplay {

namespace {

using JobLines = std::vector<const ResultLine*>;

constexpr const char* measures[] = {"alone_s", "iteration_s", "p99_s", "exposed_comm_s", "slowdown"};

std::vector<std::string> identifying_keys() {
  std::vector<std::string> keys;
  for (const std::string_view key : job_keys())
    if (column_of(key).role == ColumnRole::Identity) keys.emplace_back(key);
  return keys;
}

// The identifying columns in which these rows differ, or those in which they do not.
std::vector<std::string> identifying_columns(const ResultTable& result, const JobLines& rows, bool differ) {
  std::vector<std::string> names;
  for (const std::string& name : identifying_keys()) {
    const std::string_view first = result.text(*rows.front(), name);
    const bool same =
        std::all_of(rows.begin(), rows.end(), [&](const ResultLine* row) { return result.text(*row, name) == first; });
    if (same != differ) names.push_back(name);
  }
  return names;
}

JsonValue values_of(const ResultTable& result, const ResultLine& row, const std::vector<std::string>& names) {
  auto values = JsonValue::object();
  for (const std::string& name : names)
    if (const std::string_view value = result.text(row, name); !value.empty()) values[name] = value;
  return values;
}

JsonValue rows_of(const ResultTable& result, const JobLines& lines) {
  const std::vector<std::string> keys = identifying_columns(result, lines, true);
  auto rows = JsonValue::array();
  for (const ResultLine* line : lines) {
    JsonValue row = values_of(result, *line, keys);
    for (const char* name : measures)
      if (!result.text(*line, name).empty()) row[name] = result.number(*line, name);
    rows.push_back(std::move(row));
  }
  return rows;
}

// The rows of each file's first job: one for each run.
std::map<std::string, JobLines> runs_by_file(const ResultTable& result, const JobLines& lines) {
  std::map<std::string, JobLines> files;
  for (const ResultLine* line : lines) {
    JobLines& runs = files[std::string(result.text(*line, "jobs"))];
    if (runs.empty() || result.text(*line, "job") == result.text(*runs.front(), "job")) runs.push_back(line);
  }
  return files;
}

JsonValue ranges_of(const ResultTable& result, const JobLines& lines) {
  auto ranges = JsonValue::array();
  for (const auto& [name, runs] : runs_by_file(result, lines)) {
    const std::vector<std::string> keys = identifying_columns(result, runs, true);
    const auto worst = [&](const ResultLine* run) { return result.number(*run, "worst_slowdown"); };
    const auto [least, most] = std::minmax_element(
        runs.begin(), runs.end(), [&](const ResultLine* a, const ResultLine* b) { return worst(a) < worst(b); });
    if (runs.size() < 2 || worst(*least) == 0) continue;  // nothing to compare, or nothing was measured
    ranges.push_back({{"jobs", name},
                      {"least", worst(*least)},
                      {"least_with", values_of(result, **least, keys)},
                      {"most", worst(*most)},
                      {"most_with", values_of(result, **most, keys)}});
  }
  return ranges;
}

}  // namespace

JsonValue jobs_sweep_document(const ResultTable& result) {
  JobLines lines;
  std::map<std::string, std::string> origin_by_profile;
  for (const ResultLine& row : result.rows) {
    lines.push_back(&row);
    origin_by_profile[std::string(result.text(row, "profile"))] = result.text(row, "origin");
  }
  JsonValue document{{"rows", rows_of(result, lines)},
                     {"same", values_of(result, *lines.front(), identifying_columns(result, lines, false))},
                     {"ranges", ranges_of(result, lines)},
                     {"notes", notes_on_origins(origin_by_profile)}};
  return document;
}

const View& jobs_sweep_table_view() {
  static const View view = [] {
    ViewTable table{"rows", {}, 0};
    for (const std::string& name : identifying_keys()) table.columns.push_back({name, "{" + name + "}"});
    table.keys = table.columns.size();
    for (const ViewColumn& column : {quantity("{alone_s}"), ViewColumn{"together", "{iteration_s}"},
                                     quantity("{p99_s}"), quantity("{exposed_comm_s}"), quantity("{slowdown:3}")})
      table.columns.push_back(column);
    return View{{ViewText{"{same}", "same"}, ViewText{}, std::move(table)}};
  }();
  return view;
}

const View& jobs_sweep_verdict_view() {
  static const View view{{
      ViewNotes{},
      ViewList{"ranges", "{jobs}: the worst slow-down ranges from {least:3} ({least_with}) to {most:3} ({most_with})."},
  }};
  return view;
}

}  // namespace allreplay
