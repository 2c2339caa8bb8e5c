#include "sim/report/jobs_sweep_report.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/text.hpp"
#include "sim/core/units.hpp"
#include "sim/jobs/job_row.hpp"
#include "sim/report/report.hpp"
#include "sim/report/table.hpp"

namespace allreplay {

namespace {

using JobLines = std::vector<const ResultLine*>;

JobLines job_lines_of(const ResultTable& result) {
  JobLines lines;
  for (const ResultLine& row : result.rows) lines.push_back(&row);
  return lines;
}

// The identifying columns in which these rows differ, or those in which they are alike.
std::vector<std::string> identifying_columns(const ResultTable& result, const JobLines& rows, bool differ) {
  std::vector<std::string> names;
  for (const JobColumn& column : job_columns()) {
    if (!column.identifies) continue;
    const std::string name(column.name);
    const std::string& first = result.text(*rows.front(), name);
    const bool alike =
        std::all_of(rows.begin(), rows.end(), [&](const ResultLine* row) { return result.text(*row, name) == first; });
    if (alike != differ) names.push_back(name);
  }
  return names;
}

// "placement spread, search stagger=8"
std::string values_of(const ResultTable& result, const ResultLine& row, const std::vector<std::string>& names) {
  std::vector<std::string> values;
  for (const std::string& name : names) {
    const std::string& value = result.text(row, name);
    if (!value.empty()) values.push_back(fmt::format("{} {}", name, value));
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

}  // namespace

std::string jobs_sweep_table(const ResultTable& result, const Screen& screen) {
  const JobLines rows = job_lines_of(result);
  std::vector<std::string> keys = identifying_columns(result, rows, true);
  const std::string same = values_of(result, *rows.front(), identifying_columns(result, rows, false));
  const std::pair<const char*, const char*> seconds[] = {
      {"alone", "alone_s"}, {"together", "iteration_s"}, {"p99", "p99_s"}, {"exposed comm.", "exposed_comm_s"}};
  std::vector<TableColumn> columns(keys.begin(), keys.end());
  for (const auto& [title, name] : seconds) columns.emplace_back(title);
  columns.emplace_back("slow-down");
  Table table(columns, keys.size());
  for (const ResultLine* row : rows) {
    std::vector<TableCell> cells;
    for (const std::string& key : keys) cells.emplace_back(result.text(*row, key));
    const auto number = [&](const char* name, TableCell (*write)(double)) {
      cells.push_back(result.text(*row, name).empty()
                          ? TableCell("-")
                          : write(parse_number(result.text(*row, name), result.place_of(*row, name))));
    };
    for (const auto& [title, name] : seconds) number(name, cell::seconds);
    number("slowdown", [](double value) { return cell::number(value, 3); });
    table.add(std::move(cells));
  }
  return (same.empty() ? "" : wrapped(same, screen.width, 2) + "\n\n") + table.text(screen);
}

std::string jobs_sweep_verdict(const ResultTable& result, const Screen& screen) {
  std::vector<std::pair<std::string, JobLines>> files;  // their first jobs' rows: one of each run
  std::set<std::string> notes;
  std::string text;
  for (const ResultLine& row : result.rows) {
    if (const std::string note = caveat(result.text(row, "profile"), result.text(row, "origin"));
        notes.insert(note).second)
      text += note;
    const std::string& name = result.text(row, "jobs");
    auto file = std::find_if(files.begin(), files.end(), [&](const auto& one) { return one.first == name; });
    if (file == files.end()) file = files.insert(file, {name, {}});
    if (file->second.empty() || result.text(row, "job") == result.text(*file->second.front(), "job"))
      file->second.push_back(&row);
  }
  for (const auto& [name, runs] : files) {
    const std::vector<std::string> named = identifying_columns(result, runs, true);
    const auto worst = [&](const ResultLine* run) { return result.number(*run, "worst_slowdown"); };
    const auto [least, most] = std::minmax_element(
        runs.begin(), runs.end(), [&](const ResultLine* a, const ResultLine* b) { return worst(a) < worst(b); });
    if (runs.size() < 2 || worst(*least) == 0) continue;  // nothing to compare, or nothing was measured
    text += fmt::format("{}: the worst slow-down ranges from {:.3f} ({}) to {:.3f} ({}).\n", name, worst(*least),
                        values_of(result, **least, named), worst(*most), values_of(result, **most, named));
  }
  return wrapped(text, screen.width, 2);
}

}  // namespace allreplay
