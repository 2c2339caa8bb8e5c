#include "sim/view/plot_table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/csv.hpp"
#include "sim/core/file.hpp"
#include "sim/core/units.hpp"
#include "sim/experiment/row.hpp"

namespace allreplay {

namespace {

// Adds the options of a row ("groups=2;stop=0"), a column each but for those that are columns of the file, and whether
// these say that it does not fit.
void add_options(PlotTable& table, PlotRow& row, std::size_t of_file) {
  if (!table.has("options")) return;
  const NamedValues options = named_values(table.text(row, "options"));
  const bool limited =
      std::any_of(options.begin(), options.end(), [](const auto& one) { return one.first == "memory"; });
  if (limited && table.has("memory_bytes"))
    row.fits = fits_by(options, table.number(row, "memory_bytes"),
                       {table.file, fmt::format("line {}: options: memory", row.line)})
                   .value_or(true);
  for (const auto& [name, value] : options) {
    if (value.empty()) continue;
    auto column = std::find(table.columns.begin(), table.columns.end(), name);
    if (column == table.columns.end()) {
      constexpr std::size_t most_options = 1000;
      if (table.columns.size() >= of_file + most_options)
        throw InputError({table.file, fmt::format("line {}: options", row.line)},
                         fmt::format("'{}' is beyond {} options", name, most_options), "the options of strategies");
      column = table.columns.insert(column, name);
    }
    const auto at = static_cast<std::size_t>(column - table.columns.begin());
    if (at < of_file) continue;
    if (row.cells.size() <= at) row.cells.resize(at + 1);
    row.cells[at] = value;
  }
}

// Where a row is drawn, but for the columns that "over" decides.
std::string like_of(const PlotTable& table, const PlotOptions& options, const PlotRow& row) {
  std::vector<std::string> words;
  const auto add = [&](const std::string& column) {
    for (const auto& [decided, values] : options.over_rows)
      if (decided == column) return;
    words.push_back(options.label(table.text(row, column)));
  };
  for (const std::string& column : options.panels) add(column);
  for (const std::string& column : options.series) add(column);
  add(options.x);
  return fmt::format("{}", fmt::join(words, ", "));
}

// The `y` of the rows that "over" selects, by the place of their like.
std::map<std::string, double> bases_of(const PlotTable& table, const PlotOptions& options) {
  std::map<std::string, double> bases;
  for (const PlotRow& row : table.rows) {
    if (!selects(table, options.over_rows, row)) continue;
    const std::string like = like_of(table, options, row);
    if (!bases.emplace(like, table.number(row, options.y)).second)
      throw InputError({table.file, fmt::format("line {}", row.line)},
                       fmt::format("a second row to divide {} by", like), "\"over\" selects one");
  }
  return bases;
}

}  // namespace

std::size_t PlotTable::place(const std::string& column) const {
  const auto found = std::find(columns.begin(), columns.end(), column);
  if (found == columns.end()) fail_with_nearest(column, columns, {file, "line 1"}, "no column '{}'");
  return static_cast<std::size_t>(found - columns.begin());
}

bool PlotTable::has(const std::string& column) const {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

double PlotTable::number(const PlotRow& row, const std::string& column) const {
  const std::string& written = text(row, column);
  const SourceLocation place{file, fmt::format("line {}: {}", row.line, column)};
  double value = -1;
  try {
    value = parse_number(written, place);
  } catch (const InputError&) {
  }
  if (!(value >= 0)) throw InputError(place, fmt::format("is '{}'", written), "a number of at least 0");
  return value;
}

PlotTable read_plot_table(const Files& files, const std::string& file) {
  constexpr std::uint64_t most = std::uint64_t{512} << 20;  // as a sweep writes
  const std::vector<CsvRow> csv = parse_csv(files.read(file, most), file);
  if (csv.empty()) throw InputError({file, ""}, "is empty", "the CSV of a sweep: a header and rows");
  PlotTable table{file, csv.front().fields, {}};
  const std::size_t columns = table.columns.size();
  for (std::size_t i = 1; i < csv.size(); ++i) {
    if (csv[i].fields.size() != columns)
      throw InputError({file, fmt::format("line {}", csv[i].line)}, fmt::format("has {} fields", csv[i].fields.size()),
                       fmt::format("{}, as the header", columns));
    table.rows.push_back({csv[i].line, csv[i].fields});
  }
  if (table.rows.empty()) throw InputError({file, ""}, "has a header, and no rows", "at least one row");
  for (PlotRow& row : table.rows) add_options(table, row, columns);
  for (PlotRow& row : table.rows) row.cells.resize(table.columns.size());
  return table;
}

bool selects(const PlotTable& table, const RowSelection& selection, const PlotRow& row) {
  return std::all_of(selection.begin(), selection.end(), [&](const auto& condition) {
    const auto& [column, values] = condition;
    return std::find(values.begin(), values.end(), table.text(row, column)) != values.end();
  });
}

PlotData data_of(const PlotTable& table, const PlotOptions& options) {
  std::vector<std::string> numbers;
  bool draws_y = false;
  for (const PlotKindRow& kind : plot_kinds()) {
    if (std::find(options.kinds.begin(), options.kinds.end(), kind.value) == options.kinds.end()) continue;
    numbers.insert(numbers.end(), kind.numbers.begin(), kind.numbers.end());
    draws_y = draws_y || kind.numbers.empty();
  }
  if (draws_y) numbers.push_back(options.y);
  if (draws_y && !options.over_column.empty()) numbers.push_back(options.over_column);
  for (const auto& names : {numbers, std::vector{options.x}, options.series, options.panels})
    for (const std::string& name : names) table.place(name);
  for (const RowSelection* selection : {&options.where, &options.mark, &options.over_rows})
    for (const auto& condition : *selection) table.place(condition.first);

  PlotData data{table, options, {}, {}};
  for (const auto& [key, selection] : {std::pair("where", &options.where), {"mark", &options.mark}}) {
    data.rows.clear();
    for (const PlotRow& row : table.rows)
      if (selects(table, *selection, row) && selects(table, options.where, row)) data.rows.push_back(&row);
    if (!data.rows.empty()) continue;
    std::string conditions;
    for (const auto& [column, values] : *selection)
      conditions += fmt::format("{}{} = {}", conditions.empty() ? "" : ", ", column, fmt::join(values, " or "));
    throw InputError({table.file, ""}, fmt::format("no row has {}", conditions),
                     fmt::format("\"{}\" selects at least one row", key));
  }
  data.rows.clear();
  for (const PlotRow& row : table.rows)
    if (selects(table, options.where, row)) data.rows.push_back(&row);
  for (const PlotRow* row : data.rows)
    for (const std::string& column : numbers) table.number(*row, column);
  if (!draws_y) return data;
  const auto bases = options.over_rows.empty() ? std::map<std::string, double>() : bases_of(table, options);
  for (const PlotRow* row : data.rows) {
    double by = 1;
    if (!options.over_column.empty()) by = table.number(*row, options.over_column);
    if (!options.over_rows.empty()) {
      const std::string like = like_of(table, options, *row);
      const auto base = bases.find(like);
      if (base == bases.end())
        throw InputError({table.file, fmt::format("line {}", row->line)}, fmt::format("no row to divide {} by", like),
                         "\"over\" selects one");
      by = base->second;
    }
    const double value = table.number(*row, options.y) / by / (options.divides() ? 1 : options.scale);
    if (!std::isfinite(value))
      throw InputError({table.file, fmt::format("line {}: {}", row->line, options.y)}, "is divided by 0",
                       "\"over\" names what is above 0");
    data.y.push_back(value);
  }
  return data;
}

}  // namespace allreplay
