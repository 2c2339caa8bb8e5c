// Draws dot charts: a row for each series, a dot for each place along x.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/output/picture/row_chart.hpp"
#include "sim/output/picture/series_look.hpp"
#include "sim/output/view/plot_figure.hpp"

namespace allreplay {

namespace {

RowChart dots_of(const PlotData& data, const PlotPanel& panel, const std::vector<std::string>& places) {
  const PlotOptions& options = data.options;
  RowChart chart{.x = {.name = options.name_of_y(), .from_zero = false}, .row_height = 17};
  double least = std::numeric_limits<double>::infinity(), greatest = -least;
  for (const PlotSeries& series : panel.series) {
    chart.rows.push_back({.name = series.name, .series = series.name});
    for (const PlotPoint& point : series.points) {
      const auto place = std::find(places.begin(), places.end(), point.x) - places.begin();
      const double value = data.y[point.row];
      if (!options.y_limits.contain(value)) continue;
      least = std::min(least, value);
      greatest = std::max(greatest, value);
      chart.rows.back().dots.push_back(
          {value, static_cast<std::size_t>(place), fmt::format("{}: {}, {:.6g}", series.name, point.x, value),
           !data.rows[point.row]->fits, data.errors.empty() ? std::nullopt : data.errors[point.row]});
    }
    if (chart.rows.back().dots.empty()) chart.rows.pop_back();
  }
  if (chart.rows.empty())
    throw InputError({data.table.file, ""}, fmt::format("{} has no dot between the limits", panel.title),
                     "\"ylim\" around some values");
  if (options.order.empty())
    std::ranges::stable_sort(chart.rows, {}, [](const ChartRow& row) {
      return std::ranges::max_element(row.dots, {}, &RowDot::value)->value;
    });
  chart.x.spacing = spacing_of_y(data, least > 0 && greatest > 3 * least, Spacing::Log10, least);
  limit(chart.x, options.y_limits);
  if (options.ideal && options.divides()) chart.mark = RowMark{"", 1};
  return chart;
}

}  // namespace

Figure dots_figure(const PlotData& data) {
  const std::vector<PlotPanel> panels = panels_of(data);
  const PlotOptions& options = data.options;
  PlotPanel all;  // the places of all panels
  for (const PlotPanel& panel : panels) all.series.insert(all.series.end(), panel.series.begin(), panel.series.end());
  const std::vector<std::string> places = places_of(all).names;
  Figure figure = figure_of(data, panels.size(),
                            fmt::format("{}, by {}", options.axis_name(options.y), options.axis_name(options.x)));
  for (std::size_t i = 0; i < places.size(); ++i)
    figure.legend.push_back({(i == 0 ? options.axis_name(options.x) + ": " : "") + places[i],
                             [look = series_look(i)](Drawing& drawing, const Box& box) {
                               add_marker(drawing, look, {box.x + box.width / 2, box.y + box.height / 2});
                             }});
  for (const PlotPanel& panel : panels) add_panel(figure, panel.title, dots_of(data, panel, places));
  return figure;
}

}  // namespace allreplay
