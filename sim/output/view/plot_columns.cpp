// Draws numbers as bars: in groups along x, a bar for each series.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/base/core/units.hpp"
#include "sim/output/picture/row_chart.hpp"
#include "sim/output/picture/series_look.hpp"
#include "sim/output/view/activity_looks.hpp"
#include "sim/output/view/plot_figure.hpp"

namespace allreplay {

namespace {

// Returns a group of rows for each place along x, with a row for each series that has a point there. Rows are named by
// what tells them apart.
template <class MakeRow>
std::vector<ChartRow> rows_of(const PlotPanel& panel, const MakeRow& make) {
  std::vector<ChartRow> rows;
  const std::vector<std::string> places = places_of(panel).names;
  for (const std::string& place : places) {
    const std::size_t first = rows.size();
    for (const PlotSeries& series : panel.series)
      for (const PlotPoint& point : series.points) {
        if (point.x != place) continue;
        ChartRow row = make(series.name, point.row);
        row.name = panel.series.size() == 1 || place == series.name ? place
                   : places.size() == 1                             ? series.name
                                                                    : fmt::format("{}, {}", place, series.name);
        row.series = series.name;
        rows.push_back(std::move(row));
      }
    if (first > 0 && rows.size() > first && panel.series.size() > 1) rows[first].starts_group = true;
  }
  return rows;
}

// Names the panel, and the column that its groups stand for, if there are several.
std::string title_of(const PlotData& data, const PlotPanel& panel) {
  if (places_of(panel).names.size() == 1) return panel.title;
  return fmt::format("{}{}by {}", panel.title, panel.title.empty() ? "" : ", ", data.options.axis_name(data.options.x));
}

// Returns four digits, or all digits before the point; two for numbers below 0.1, which are as wide.
std::string number_text(double value) {
  if (std::abs(value) < 0.1) return fmt::format("{:.2g}", value);
  if (std::abs(value) < 10'000) return fmt::format("{:.4g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

}  // namespace

Figure columns_figure(const PlotData& data) {
  const std::vector<PlotPanel> panels = panels_of(data);
  const auto looks = looks_of(data, panels);
  const PlotOptions& options = data.options;
  const std::string name = options.name_of_y();
  Figure figure = figure_of(data, panels.size(), fmt::format("{}, by {}", name, options.axis_name(options.x)));
  const bool shares =
      (options.unit == "%" || options.in_percent()) && *std::max_element(data.y.begin(), data.y.end()) <= 100;
  for (const PlotPanel& panel : panels) {
    RowChart chart{.x = {.name = name}, .row_height = 16};
    if (shares) chart.x.to = 100;
    if (options.y_limits.to) chart.x.to = options.y_limits.to;
    chart.rows = rows_of(panel, [&](const std::string& series, std::size_t row) {
      return ChartRow{.parts = {{series, data.y[row], bar_look(series_look(looks.at(series)))}},
                      .end = number_text(data.y[row]),
                      .error = data.errors.empty() ? std::nullopt : data.errors[row],
                      .crossed = !data.rows[row]->fits};
    });
    add_panel(figure, title_of(data, panel), std::move(chart));
  }
  return figure;
}

Figure boxes_figure(const PlotData& data) {
  const std::vector<PlotPanel> panels = panels_of(data);
  const auto looks = looks_of(data, panels);
  const auto of = [&](std::size_t row, const char* column) { return data.table.number(*data.rows[row], column); };
  Figure figure = figure_of(data, panels.size(), "time over seeds, by " + data.options.axis_name(data.options.x));
  for (const PlotPanel& panel : panels) {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const PlotSeries& series : panel.series)
      for (const PlotPoint& point : series.points) {
        least = std::min(least, of(point.row, "least_s"));
        most = std::max(most, of(point.row, "most_s"));
      }
    const FittingUnit unit = unit_of_duration(most);
    RowChart chart{.x = {.name = fmt::format("time ({})", unit.name), .from_zero = false}, .row_height = 16};
    PlotLimits limits = data.options.y_limits;  // in seconds
    for (std::optional<double>* end : {&limits.from, &limits.to})
      if (*end) **end /= unit.size;
    limit(chart.x, limits);
    chart.x.spacing = spacing_of_y(data, false, Spacing::Linear, least);
    chart.rows = rows_of(panel, [&](const std::string& series, std::size_t row) {
      const auto shown = [&](const char* column) { return of(row, column) / unit.size; };
      RowBox box{shown("least_s"),
                 shown("p25_s"),
                 shown("p50_s"),
                 shown("p75_s"),
                 shown("most_s"),
                 bar_look(series_look(looks.at(series))),
                 ""};
      box.title = fmt::format("{}: median {}, quartiles {} and {}, extremes {} and {}", series,
                              format_duration(of(row, "p50_s")), format_duration(of(row, "p25_s")),
                              format_duration(of(row, "p75_s")), format_duration(of(row, "least_s")),
                              format_duration(of(row, "most_s")));
      return ChartRow{.box = box, .crossed = !data.rows[row]->fits};
    });
    add_panel(figure, title_of(data, panel), std::move(chart));
  }
  return figure;
}

Figure bars_figure(const PlotData& data) {
  const std::vector<PlotPanel> panels = panels_of(data);
  const auto looks = looks_of(data, panels);
  const Look compute{.fill = colour(0xD9D9D9)}, codec{.fill = colour(0x8C8C8C)};
  const auto of = [&](std::size_t row, const char* column) { return data.table.number(*data.rows[row], column); };
  // Tables of earlier versions count stragglers as exposed communication. A negative time (saved by fast workers) is
  // not drawn.
  const auto slow = [&](std::size_t row) {
    const std::string column = "straggler_s";
    if (!data.table.has(column)) return 0.0;
    const ResultLine& line = *data.rows[row];
    return std::max(0.0, parse_number(data.table.text(line, column), data.table.place_of(line, column)));
  };
  Figure figure = figure_of(data, panels.size(), "time per iteration, by " + data.options.axis_name(data.options.x));
  for (const PlotPanel& panel : panels) {
    double longest = 0;
    for (const PlotSeries& series : panel.series)
      for (const PlotPoint& point : series.points) longest = std::max(longest, of(point.row, "iteration_s"));
    const FittingUnit unit = unit_of_duration(longest);
    RowChart chart{.x = {.name = fmt::format("time per iteration ({})", unit.name)}, .row_height = 16};
    if (const auto& to = data.options.y_limits.to) chart.x.to = *to / unit.size;
    chart.rows = rows_of(panel, [&](const std::string& series, std::size_t row) {
      const double whole = of(row, "iteration_s"), coding = of(row, "codec_s"), exposed = of(row, "exposed_comm_s");
      // The rest is computation of all micro-batches and the update.
      return ChartRow{.parts = {{"Computation", (whole - coding - exposed - slow(row)) / unit.size, compute},
                                {"Compression", coding / unit.size, codec},
                                {"Stragglers", slow(row) / unit.size, look_of_stragglers()},
                                {"Exposed, " + series, exposed / unit.size, bar_look(series_look(looks.at(series)))}},
                      .crossed = !data.rows[row]->fits};
    });
    add_panel(figure, title_of(data, panel), std::move(chart));
  }
  return figure;
}

}  // namespace allreplay
