#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/units.hpp"
#include "sim/output/picture/column_chart.hpp"
#include "sim/output/picture/series_look.hpp"
#include "sim/output/view/activity_looks.hpp"
#include "sim/output/view/plot_figure.hpp"

namespace allreplay {

namespace {

// Returns a group for each place along x, with a column for each series that has a point there.
template <class MakeColumn>
std::vector<ColumnGroup> groups_of(const PlotPanel& panel, const MakeColumn& make) {
  std::vector<ColumnGroup> groups;
  for (const std::string& place : places_of(panel).names) {
    groups.push_back({place, {}});
    for (const PlotSeries& series : panel.series)
      for (const PlotPoint& point : series.points)
        if (point.x == place) groups.back().columns.push_back(make(series.name, point.row));
  }
  return groups;
}

// Returns four digits, or all digits before the point; two for numbers below 0.1, which are as wide.
std::string number_text(double value) {
  if (value < 0.1) return fmt::format("{:.2g}", value);
  if (value < 10'000) return fmt::format("{:.4g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

void add_panels(Figure& figure, const std::vector<PlotPanel>& panels, std::vector<ColumnChart> charts) {
  write_alike(charts, figure.panel_width);
  for (std::size_t i = 0; i < charts.size(); ++i)
    figure.panels.push_back({panels[i].title, [chart = std::move(charts[i])](Drawing& drawing, const Box& room) {
                               return add_column_chart(drawing, room, chart);
                             }});
}

// True if the names of groups make a legend superfluous: each series is a group of its own name.
bool named_below(const std::vector<PlotPanel>& panels) {
  for (const PlotPanel& panel : panels)
    for (const PlotSeries& series : panel.series)
      for (const PlotPoint& point : series.points)
        if (point.x != series.name) return false;
  return true;
}

}  // namespace

Figure columns_figure(const PlotData& data) {
  const std::vector<PlotPanel> panels = panels_of(data);
  const PlotSeriesLooks looks(data, panels);
  const auto look = [&](const std::string& series) { return bar_look(series_look(looks.place(series))); };
  const PlotOptions& options = data.options;
  const std::string name = options.name_of_y();
  Figure figure = figure_of(data, panels.size(), fmt::format("{}, by {}", name, options.axis_name(options.x)));
  const bool shares = options.unit == "%" && *std::max_element(data.y.begin(), data.y.end()) <= 100;
  std::vector<ColumnChart> charts;
  for (const PlotPanel& panel : panels) {
    ColumnChart chart{.x_name = options.axis_name(options.x), .y = {.name = name}};
    if (shares) chart.y.to = 100;
    chart.groups = groups_of(panel, [&](const std::string& series, std::size_t row) {
      return ChartColumn{
          series, {{data.y[row], look(series), series}}, number_text(data.y[row]), !data.rows[row]->fits};
    });
    charts.push_back(std::move(chart));
  }
  add_panels(figure, panels, std::move(charts));
  if (!named_below(panels))
    for (const std::string& series : looks.names()) figure.legend.push_back(swatch(series, look(series)));
  return figure;
}

Figure bars_figure(const PlotData& data) {
  const std::vector<PlotPanel> panels = panels_of(data);
  const PlotSeriesLooks looks(data, panels);
  const auto look = [&](const std::string& series) { return bar_look(series_look(looks.place(series))); };
  const Look compute{.fill = colour(0xD9D9D9)}, codec{.fill = colour(0x8C8C8C)}, stragglers = look_of_stragglers();
  const auto of = [&](std::size_t row, const char* column) { return data.table.number(*data.rows[row], column); };
  // Tables of earlier versions count stragglers as exposed communication. A negative time (saved by fast workers) is
  // not drawn.
  const auto slow = [&](std::size_t row) {
    const std::string column = "straggler_s";
    if (!data.table.has(column)) return 0.0;
    const ResultLine& line = *data.rows[row];
    return std::max(0.0, parse_number(data.table.text(line, column), data.table.place_of(line, column)));
  };
  // Computation of all micro-batches and the update.
  const auto computing = [&](std::size_t row) {
    return of(row, "iteration_s") - of(row, "codec_s") - of(row, "exposed_comm_s") - slow(row);
  };
  const std::string x_name = data.options.axis_name(data.options.x);
  Figure figure = figure_of(data, panels.size(), "time per iteration, by " + x_name);
  bool coded = false, slowed = false;
  std::vector<ColumnChart> charts;
  for (const PlotPanel& panel : panels) {
    double longest = 0;
    for (const PlotSeries& series : panel.series)
      for (const PlotPoint& point : series.points) longest = std::max(longest, of(point.row, "iteration_s"));
    const FittingUnit unit = unit_of_duration(longest);
    ColumnChart chart{
        .x_name = x_name, .y = {.name = fmt::format("time per iteration ({})", unit.name)}, .names_within = true};
    chart.groups = groups_of(panel, [&](const std::string& series, std::size_t row) {
      coded = coded || of(row, "codec_s") > 0;
      slowed = slowed || slow(row) > 0;
      return ChartColumn{series,
                         {{computing(row) / unit.size, compute, series + ", computation"},
                          {of(row, "codec_s") / unit.size, codec, series + ", compression"},
                          {slow(row) / unit.size, stragglers, series + ", stragglers"},
                          {of(row, "exposed_comm_s") / unit.size, look(series), series + ", exposed communication"}},
                         "",
                         !data.rows[row]->fits};
    });
    charts.push_back(std::move(chart));
  }
  add_panels(figure, panels, std::move(charts));
  figure.legend.push_back(swatch("Computation", compute));
  if (coded) figure.legend.push_back(swatch("Compression", codec));
  if (slowed) figure.legend.push_back(swatch("Stragglers", stragglers));
  for (const std::string& series : looks.names()) figure.legend.push_back(swatch("Exposed, " + series, look(series)));
  return figure;
}

}  // namespace allreplay
