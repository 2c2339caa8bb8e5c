#include "sim/studies/results/result_table.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "sim/base/core/csv.hpp"
#include "sim/base/core/file.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/base/core/version.hpp"

namespace allreplay {

namespace {

// A size is a byte or, if it is large, this byte and four others.
constexpr char is_large = '\xFF';

}  // namespace

Texts::Texts(std::span<const std::string> texts) {
  std::size_t size = 0;
  for (const std::string& one : texts) size += one.size() + 1;
  all_.reserve(size);
  for (const std::string& one : texts) push_back(one);
}

void Texts::push_back(std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  if (size < static_cast<unsigned char>(is_large)) {
    all_ += static_cast<char>(size);
  } else {
    all_ += is_large;
    all_.append(reinterpret_cast<const char*>(&size), sizeof size);
  }
  all_ += text;
  ++count_;
}

// Returns the text at this place in all_, and moves on to the next one.
std::string_view Texts::take(std::size_t& at) const {
  std::uint32_t size = static_cast<unsigned char>(all_[at++]);
  if (all_[at - 1] == is_large) {
    std::memcpy(&size, all_.data() + at, sizeof size);
    at += sizeof size;
  }
  const std::string_view text = std::string_view(all_).substr(at, size);
  at += size;
  return text;
}

std::string_view Texts::operator[](std::size_t i) const {
  std::size_t at = 0;
  for (; i > 0; --i) take(at);
  return take(at);
}

std::vector<std::string_view> Texts::all() const {
  std::vector<std::string_view> texts;
  texts.reserve(count_);
  for (std::size_t at = 0; at < all_.size();) texts.push_back(take(at));
  return texts;
}

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

bool row_fits(const ResultTable& table, const ResultLine& row) {
  if (!table.has("options") || !table.has("memory_bytes")) return true;
  const auto limit = memory_limit(table.text(row, "options"), table.place_of(row, "options: memory"));
  return !limit || table.number(row, "memory_bytes") <= *limit;
}

void set_line(ResultTable& table, ResultLine& row, int line, std::span<const std::string> fields) {
  row.line = line;
  row.cells = Texts(fields);
  if (fields.size() != table.columns.size())
    throw InputError(table.place_of(row), fmt::format("has {} fields", fields.size()),
                     fmt::format("{}, as in the header", table.columns.size()));
  row.fits = row_fits(table, row);
}

// Pages, pictures and screens show the cells.
void require_shown(const ResultTable& table, const CsvRow& csv) {
  for (std::size_t i = 0; i < csv.fields.size(); ++i)
    if (!is_one_line(csv.fields[i]))
      throw InputError(
          {table.file, fmt::format("line {}{}", csv.line, i < table.columns.size() ? ": " + table.columns[i] : "")},
          fmt::format("'{}' is not one line of visible text", one_line(csv.fields[i], 1000)),
          "no line ends, tabs or direction marks");
}

}  // namespace

void ResultTable::set(std::size_t index, const Row& row) {
  std::vector<std::string> fields;
  for (const NamedCell& one : row) fields.push_back(unquoted_text(one.cell));
  if (rows.size() <= index) rows.resize(index + 1);
  set_line(*this, rows[index], static_cast<int>(index) + 2, fields);  // after the header
}

std::optional<double> memory_limit(std::string_view options, const SourceLocation& place) {
  for (const auto& [name, value] : named_values(options))
    if (name == "memory") return static_cast<double>(parse_size(value, place));
  return std::nullopt;
}

ResultTable read_results(const Files& files, const std::string& file) {
  constexpr std::uint64_t most = std::uint64_t{512} << 20;  // the limit of sweep_file.cpp, too
  return parse_results(files.read(file, most), file);
}

ResultTable parse_results(const std::string& text, const std::string& file) {
  ResultTable table{file, {}, {}};
  if (const std::size_t start = text.find_first_not_of(" \t\r\n");
      start != std::string::npos && (text[start] == '{' || text[start] == '['))
    throw InputError({file, ""}, "is JSON, not the CSV of a sweep",
                     "a file written by `allreplay sweep --out FILE.csv`");
  parse_csv(text, file, [&](CsvRow& csv) {
    if (table.columns.empty() && csv.fields.front().starts_with(csv_comment)) return;
    require_shown(table, csv);
    if (table.columns.empty()) return table.columns.swap(csv.fields);
    set_line(table, table.rows.emplace_back(), csv.line, csv.fields);
  });
  if (table.columns.empty()) throw InputError({file, ""}, "is empty", "the CSV of a sweep: a header and rows");
  if (table.rows.empty()) throw InputError({file, ""}, "has a header but no rows", "at least one row");
  return table;
}

std::string to_csv(const Texts& cells) {
  std::string line;
  for (const std::string_view cell : cells.all()) line += csv_field(cell) + ",";
  line.pop_back();
  return line;
}

std::string tidy_csv(const ResultTable& table) {
  std::vector<bool> used(table.columns.size());
  for (const ResultLine& row : table.rows) {
    const std::vector<std::string_view> cells = row.cells.all();
    for (std::size_t i = 0; i < cells.size(); ++i) used[i] = used[i] || !cells[i].empty();
  }
  std::string text = fmt::format("{}allreplay {}\n", csv_comment, version_and_commit());
  const auto add = [&](const auto& cells) {
    const char* separator = "";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!used[i]) continue;
      const std::string field = csv_field(cells[i]);
      // Readers take an unquoted # for the start of a comment.
      const bool quotes = field.find('#') != std::string::npos && field.front() != '"';
      text += std::exchange(separator, ",") + (quotes ? "\"" + field + "\"" : field);
    }
    text += '\n';
  };
  add(table.columns);
  for (const ResultLine& row : table.rows) add(row.cells.all());
  return text;
}

}  // namespace allreplay
