#include "sim/output/view/plot_table.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/units.hpp"

namespace allreplay {

namespace {

// Returns a key that matching rows share: the columns that decide where a row is drawn, without those of "over".
std::string like_of(const ResultTable& table, const PlotOptions& options, const ResultLine& row) {
  std::vector<std::string> words;
  const auto add = [&](const std::string& column) {
    for (const auto& [decided, values] : options.over_rows)
      if (decided == column) return;
    words.push_back(options.label(std::string(table.text(row, column))));
  };
  for (const std::string& column : options.panels) add(column);
  for (const std::string& column : options.series) add(column);
  add(options.x);
  return fmt::format("{}", fmt::join(words, ", "));
}

// Returns the `y` of the rows that "over" selects, by like_of().
std::map<std::string, double> bases_of(const ResultTable& table, const PlotOptions& options) {
  std::map<std::string, double> bases;
  for (const ResultLine& row : table.rows) {
    if (!selects(table, options.over_rows, row)) continue;
    const std::string like = like_of(table, options, row);
    if (!bases.emplace(like, table.number(row, options.y)).second)
      throw InputError(table.place_of(row), fmt::format("a second row to divide {} by", like), "\"over\" selects one");
  }
  return bases;
}

// The place of a row in "order" by these columns: that of its title, of a cell or of a cell's label; else the end.
std::size_t place_in_order(const PlotData& data, const ResultLine& row, const std::vector<std::string>& columns) {
  const PlotOptions& options = data.options;
  std::vector<std::string> names{title_of(data, row, columns)};
  for (const std::string& column : columns) {
    names.emplace_back(data.table.text(row, column));
    names.push_back(options.label(names.back()));
  }
  const auto found = std::ranges::find_first_of(options.order, names);
  return static_cast<std::size_t>(found - options.order.begin());
}

// Sorts the rows by "order", since panels, series and places along x are drawn in the order of their first rows.
void put_in_order(PlotData& data) {
  const PlotOptions& options = data.options;
  if (options.order.empty()) return;
  const std::vector<std::vector<std::string>> keys{options.panels, options.series, {options.x}};
  std::map<const ResultLine*, std::vector<std::size_t>> places;
  std::vector<bool> known(options.order.size());
  for (const ResultLine& row : data.table.rows)
    for (const auto& columns : keys) {
      const std::size_t place = place_in_order(data, row, columns);
      places[&row].push_back(place);
      if (place < known.size()) known[place] = true;
    }
  if (const auto unknown = std::ranges::find(known, false); unknown != known.end())
    throw InputError(
        {data.table.file, ""},
        fmt::format("no row has '{}' in {}, {} or {}", options.order[static_cast<std::size_t>(unknown - known.begin())],
                    fmt::join(options.panels, ", "), fmt::join(options.series, ", "), options.x),
        "\"order\" names panels, series and places along x");
  std::ranges::stable_sort(data.rows, {}, [&](const ResultLine* row) { return places.at(row); });
}

// Returns the ends of the row's error bar, or band, in the unit of the column; none if a cell is empty.
std::optional<RowError> error_of(const PlotData& data, const std::vector<std::string>& columns, const ResultLine& row) {
  const ResultTable& table = data.table;
  for (const std::string& column : columns)
    if (table.text(row, column).empty()) return std::nullopt;
  const double first = table.number(row, columns.front());
  if (columns.size() == 1) {
    const double value = table.number(row, data.options.y);
    return RowError{value - first, value + first};
  }
  const double second = table.number(row, columns.back());
  if (second < first)
    throw InputError(table.place_of(row, columns.back()), fmt::format("is below {}", columns.front()),
                     "the upper end of an error bar");
  return RowError{first, second};
}

// Rejects error bars and bands where other columns than `y` are drawn, or a distribution.
void require_error_bars(const PlotData& data, bool draws_y) {
  const auto& [error, band] = std::tie(data.options.error, data.options.band);
  for (const auto& columns : {error, band})
    for (const std::string& column : columns) data.table.place(column);
  for (const PlotKind kind : data.options.kinds) {
    if (!band.empty() && kind != PlotKind::Lines)
      throw InputError({data.table.file, ""}, "only lines have bands", "kind lines, or no \"band\"");
    if (!error.empty() &&
        (!draws_y || kind == PlotKind::Speedup || kind == PlotKind::Efficiency || kind == PlotKind::Histogram))
      throw InputError({data.table.file, ""}, "only lines, columns and dots have error bars",
                       "kind lines, columns or dots, or no \"error\"");
  }
}

// Sets `y` and the error bars of the rows, divided by "over" and "scale".
void divide(PlotData& data) {
  const ResultTable& table = data.table;
  const PlotOptions& options = data.options;
  const auto bases = options.over_rows.empty() ? std::map<std::string, double>() : bases_of(table, options);
  for (const ResultLine* row : data.rows) {
    double by = 1;
    if (!options.over_column.empty()) by = table.number(*row, options.over_column);
    if (!options.over_rows.empty()) {
      const std::string like = like_of(table, options, *row);
      const auto base = bases.find(like);
      if (base == bases.end())
        throw InputError(table.place_of(*row), fmt::format("no row to divide {} by", like), "\"over\" selects one");
      by = base->second;
    }
    const double value = table.number(*row, options.y) / by / options.unit_size();
    if (!(value <= most_drawn))
      throw InputError(table.place_of(*row, options.y), "is divided by 0, or too little",
                       "\"over\" and \"scale\" with a value above 0");
    data.y.push_back(value);
    const double divisor = by * options.unit_size();
    const auto add = [&](std::vector<std::optional<RowError>>& errors, const std::vector<std::string>& columns) {
      if (columns.empty()) return;
      errors.push_back(error_of(data, columns, *row));
      if (auto& error = errors.back()) error = RowError{error->low / divisor, error->high / divisor};
    };
    add(data.errors, options.error);
    add(data.bands, options.band);
  }
}

}  // namespace

ResultTable plot_table(ResultTable table) {
  if (!table.has("options")) return table;
  constexpr std::size_t most_options = 1000;
  const std::size_t options = table.place("options"), of_file = table.columns.size();
  for (const ResultLine& row : table.rows)
    for (const auto& [name, value] : named_values(row.cells[options])) {
      if (value.empty() || table.has(name)) continue;
      if (table.columns.size() >= of_file + most_options)
        throw InputError(table.place_of(row, "options"), fmt::format("'{}' is after {} options", name, most_options),
                         "the options of strategies");
      table.columns.push_back(name);
    }
  for (ResultLine& row : table.rows) {
    const NamedValues values = named_values(row.cells[options]);
    for (std::size_t i = of_file; i < table.columns.size(); ++i) {
      const auto given = std::find_if(values.rbegin(), values.rend(), [&](const auto& one) {
        return one.first == table.columns[i] && !one.second.empty();
      });
      row.cells.push_back(given == values.rend() ? "" : given->second);
    }
  }
  return table;
}

std::optional<double> as_number(const std::string& text) {
  try {
    const double number = parse_number(text, {});
    return std::abs(number) <= most_drawn ? std::optional(number) : std::nullopt;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

bool selects(const ResultTable& table, const RowSelection& selection, const ResultLine& row) {
  return std::all_of(selection.begin(), selection.end(), [&](const auto& condition) {
    const auto& [column, values] = condition;
    return std::find(values.begin(), values.end(), table.text(row, column)) != values.end();
  });
}

PlotData data_of(const ResultTable& table, const PlotOptions& options) {
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

  PlotData data{table, options, {}, {}, {}, {}};
  for (const auto& [key, selection] : {std::pair("where", &options.where), {"mark", &options.mark}}) {
    data.rows.clear();
    for (const ResultLine& row : table.rows)
      if (selects(table, *selection, row) && selects(table, options.where, row)) data.rows.push_back(&row);
    if (!data.rows.empty()) continue;
    std::string conditions;
    for (const auto& [column, values] : *selection)
      conditions += fmt::format("{}{} = {}", conditions.empty() ? "" : ", ", column, fmt::join(values, " or "));
    throw InputError({table.file, ""}, fmt::format("no row has {}", conditions),
                     fmt::format("\"{}\" selects at least one row", key));
  }
  data.rows.clear();
  for (const ResultLine& row : table.rows)
    if (selects(table, options.where, row)) data.rows.push_back(&row);
  put_in_order(data);
  const auto is_empty = [&](const ResultLine* row) { return table.text(*row, options.y).empty(); };
  if (draws_y && !std::all_of(data.rows.begin(), data.rows.end(), is_empty))
    std::erase_if(data.rows, is_empty);          // for example the MFU of a device without a known peak
  if (options.kinds.front() == PlotKind::Boxes)  // one seed, or nothing random, has no quantiles
    std::erase_if(data.rows, [&](const ResultLine* row) { return table.text(*row, "p50_s").empty(); });
  if (data.rows.empty()) throw InputError({table.file, "p50_s"}, "is empty in all rows", "a sweep with \"seeds\"");
  for (const ResultLine* row : data.rows)
    for (const std::string& column : numbers) table.number(*row, column);
  if (std::find(options.kinds.begin(), options.kinds.end(), PlotKind::Efficiency) != options.kinds.end()) {
    const std::vector<RelativeEfficiency> all = relative_efficiencies(table);
    for (const ResultLine* row : data.rows)
      data.efficiencies.push_back(all[static_cast<std::size_t>(row - table.rows.data())]);
  }
  require_error_bars(data, draws_y);
  if (!draws_y) return data;
  divide(data);
  return data;
}

}  // namespace allreplay
