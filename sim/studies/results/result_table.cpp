#include "sim/studies/results/result_table.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/base/core/csv.hpp"
#include "sim/base/core/file.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/units.hpp"
#include "sim/base/core/version.hpp"

namespace allreplay {

bool ResultTable::has(const std::string& column) const {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

std::size_t ResultTable::place(const std::string& column) const {
  const auto found = std::find(columns.begin(), columns.end(), column);
  if (found == columns.end()) fail_with_nearest(column, columns, {file, "line 1"}, "no column '{}'");
  return static_cast<std::size_t>(found - columns.begin());
}

SourceLocation ResultTable::place_of(const ResultLine& row, const std::string& column) const {
  return {file, fmt::format("line {}{}{}", row.line, column.empty() ? "" : ": ", column)};
}

double ResultTable::number(const ResultLine& row, const std::string& column) const {
  const std::string written(text(row, column));
  const SourceLocation where = place_of(row, column);
  double value = -1;
  try {
    value = parse_number(written, where);
  } catch (const InputError&) {
  }
  if (!(value >= 0 && value <= most_drawn))
    throw InputError(where, fmt::format("is '{}'", written), "a number of at least 0");
  return value;
}

namespace {

constexpr std::string_view csv_comment = "# ";  // starts the lines before the header

// True if the row's memory fits into the limit in its options, or there is no limit.
bool row_fits(const ResultTable& table, const ResultLine& row) {
  if (!table.has("options") || !table.has("memory_bytes")) return true;
  const NamedValues options = named_values(table.text(row, "options"));
  if (std::none_of(options.begin(), options.end(), [](const auto& one) { return one.first == "memory"; })) return true;
  return fits_by(options, table.number(row, "memory_bytes"), table.place_of(row, "options: memory")).value_or(true);
}

}  // namespace

ResultTable read_results(const Files& files, const std::string& file) {
  constexpr std::uint64_t most = std::uint64_t{512} << 20;  // the limit of sweep_file.cpp, too
  return parse_results(files.read(file, most), file);
}

ResultTable parse_results(const std::string& text, const std::string& file) {
  ResultTable table{file, {}, {}};
  parse_csv(text, file, [&](CsvRow& csv) {
    if (table.columns.empty() && csv.fields.front().starts_with(csv_comment)) return;
    if (table.columns.empty()) return table.columns.swap(csv.fields);
    ResultLine& row = table.rows.emplace_back();
    row.line = csv.line;
    row.cells = Texts(csv.fields);
    if (row.cells.size() != table.columns.size())
      throw InputError(table.place_of(row), fmt::format("has {} fields", row.cells.size()),
                       fmt::format("{}, as in the header", table.columns.size()));
    row.fits = row_fits(table, row);
  });
  if (table.columns.empty()) throw InputError({file, ""}, "is empty", "the CSV of a sweep: a header and rows");
  if (table.rows.empty()) throw InputError({file, ""}, "has a header but no rows", "at least one row");
  return table;
}

std::string tidy_csv(const ResultTable& table) {
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (std::ranges::any_of(table.rows, [&](const ResultLine& row) { return !row.cells[i].empty(); }))
      used.push_back(i);
  std::string text = fmt::format("{}allreplay {}\n", csv_comment, version_and_commit());
  const auto add = [&](const auto& cells) {
    for (const std::size_t i : used) {
      const std::string field = csv_field(cells[i]);
      // Readers take an unquoted # for the start of a comment.
      const bool quotes = field.find('#') != std::string::npos && field.front() != '"';
      text += fmt::format("{}{}", i == used.front() ? "" : ",", quotes ? "\"" + field + "\"" : field);
    }
    text += '\n';
  };
  add(table.columns);
  for (const ResultLine& row : table.rows) add(row.cells);
  return text;
}

}  // namespace allreplay
