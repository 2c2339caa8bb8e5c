#include <algorithm>
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

// Returns the first column with text in which two rows of the same point differ; "" if only numbers differ.
std::string what_differs(const PlotData& data, const ResultLine& a, const ResultLine& b) {
  static const std::set<std::string> results{"memory", "events", "wall_s"};
  for (std::size_t i = 0; i < a.cells.size(); ++i)
    if (a.cells[i] != b.cells[i] && !as_number(std::string(a.cells[i])) && results.count(data.table.columns[i]) == 0)
      return data.table.columns[i];
  return "";
}

// Returns the series' title, or "no routing" if the row's cells in those columns are empty.
std::string series_of(const PlotData& data, const ResultLine& row) {
  const std::vector<std::string>& columns = data.options.series;
  std::string name = title_of(data, row, columns);
  return name.empty() && !columns.empty() ? "no " + data.options.axis_name(columns.front()) : name;
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
              : fmt::format("make '{0}' one of the series or panels, as by --set panels={0}, or select with \"where\"",
                            differs));
    }
    series.points.push_back({x, i});
  }
  return panels;
}

}  // namespace allreplay
