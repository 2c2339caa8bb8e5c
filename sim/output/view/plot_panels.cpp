#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/output/view/plot_table.hpp"

namespace allreplay {

namespace {

template <class Named>
auto& with_name(std::vector<Named>& list, std::string Named::*name, const std::string& wanted) {
  for (Named& one : list)
    if (one.*name == wanted) return one;
  list.emplace_back();
  list.back().*name = wanted;
  return list.back();
}

// Returns the first column besides those drawn in which two rows of the same point have different texts or options, and
// so different names; "" if only numbers differ.
std::string what_differs(const PlotData& data, const ResultLine& a, const ResultLine& b) {
  static const std::set<std::string> results{"memory", "events", "wall_s"};
  const ResultTable& table = data.table;
  const PlotOptions& options = data.options;
  std::set<std::string> drawn{options.x}, given;
  for (const auto* columns : {&options.series, &options.panels, &options.apart})
    drawn.insert(columns->begin(), columns->end());
  if (table.has("options"))
    for (const ResultLine* row : {&a, &b})
      for (const auto& [name, value] : named_values(table.text(*row, "options"))) given.insert(name);
  const std::vector<std::string_view> cells = a.cells.all(), others = b.cells.all();
  const auto is_number = [&](std::size_t i) {
    const Column* known = find_column(table.columns[i]);
    return known ? known->is_number() : as_number(std::string(cells[i])) || as_number(std::string(others[i]));
  };
  std::string all_options;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string& column = table.columns[i];
    if (options.label(std::string(cells[i])) == options.label(std::string(others[i])) || drawn.contains(column) ||
        results.contains(column))
      continue;
    if (column == "options")
      all_options = column;  // one of them, which follow as columns, makes a shorter name
    else if (given.contains(column) || !is_number(i))
      return column;
  }
  return all_options;
}

// Returns the series' title, or "no routing" if the row's cells in those columns are empty; with what tells it apart:
// "DDP, bucket_cap=1 MB".
std::string series_of(const PlotData& data, const ResultLine& row) {
  const PlotOptions& options = data.options;
  const std::vector<std::string>& columns = options.series;
  std::string name = title_of(data, row, columns);
  if (name.empty() && !columns.empty()) name = "no " + options.axis_name(columns.front());
  for (const std::string& column : options.apart)
    if (const std::string cell(data.table.text(row, column)); !cell.empty())
      name += ", " + (find_column(column) ? options.label(cell) : fmt::format("{}={}", column, cell));
  return options.apart.empty() ? name : options.label(name);
}

}  // namespace

void require_at_most(std::size_t most, std::size_t count, const char* what, const PlotData& data,
                     const ResultLine& row) {
  if (count > most)
    throw InputError(data.table.place_of(row), fmt::format("exceeds the number of {}", what),
                     fmt::format("at most {}; select with \"where\"", most));
}

std::string title_of(const PlotData& data, const ResultLine& row, const std::vector<std::string>& columns) {
  std::vector<std::string> words;
  for (const std::string& column : columns)
    if (std::string word = data.options.label(std::string(data.table.text(row, column)));
        !word.empty())  // the row does not have this option
      words.push_back(std::move(word));
  const std::string name = fmt::format("{}", fmt::join(words, ", "));
  return words.size() > 1 ? data.options.label(name) : name;
}

void tell_apart(const PlotData& data, PlotOptions& options) {
  for (bool known = false; !known;) {
    known = true;
    std::map<std::vector<std::string>, const ResultLine*> points;
    for (const ResultLine* row : data.rows) {
      const auto [point, fresh] =
          points.emplace(std::vector{title_of(data, *row, options.panels), series_of(data, *row),
                                     options.label(std::string(data.table.text(*row, options.x)))},
                         row);
      if (fresh) continue;
      std::string column = what_differs(data, *point->second, *row);
      if (column.empty()) return;  // panels_of() rejects them
      options.apart.push_back(std::move(column));
      known = false;
      break;
    }
  }
}

std::vector<PlotPanel> panels_of(const PlotData& data) {
  const PlotOptions& options = data.options;
  std::vector<PlotPanel> panels;
  for (std::size_t i = 0; i < data.rows.size(); ++i) {
    const ResultLine& row = *data.rows[i];
    PlotPanel& panel = with_name(panels, &PlotPanel::title, title_of(data, row, options.panels));
    require_at_most(most_panels, panels.size(), "panels", data, row);
    PlotSeries& series = with_name(panel.series, &PlotSeries::name, series_of(data, row));
    require_at_most(most_series, panel.series.size(), "series in one panel", data, row);
    require_at_most(most_points, series.points.size(), "points in one series", data, row);
    const std::string x = options.label(std::string(data.table.text(row, options.x)));
    for (const PlotPoint& point : series.points) {
      if (point.x != x) continue;
      const std::string differs = what_differs(data, *data.rows[point.row], row);
      throw InputError(
          data.table.place_of(row),
          fmt::format("a second row for {}, {}, {} = {}", panel.title, series.name, options.x,
                      data.table.text(row, options.x)),
          differs.empty()
              ? "one row per point"
              : fmt::format("make '{0}' one of the series or panels, as by --series {1},{0}, or select with \"where\"",
                            differs, fmt::join(options.series, ",")));
    }
    series.points.push_back({x, i});
  }
  return panels;
}

}  // namespace allreplay
