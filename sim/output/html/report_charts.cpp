#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "sim/base/core/units.hpp"
#include "sim/output/html/pages.hpp"
#include "sim/output/picture/style.hpp"
#include "sim/output/picture/svg.hpp"
#include "sim/output/view/plot_figure.hpp"

namespace allreplay {

namespace {

// Columns added to the CSV's: the name of the series, the cluster with its routing, and ResultRow::relative_efficiency.
constexpr const char *series_column = "series", *network_column = "network", *scaling_column = "scaling efficiency";

struct ReportChart {
  std::string name;
  Figure figure;
};

// A number that readers of most sweeps look for. `curve` is the kind of plot over a numeric axis.
struct Measure {
  const char* name;
  PlotKind curve;
  const char *y, *over = "";
};

constexpr std::array measures{
    Measure{"Speed-up", PlotKind::Speedup, "speedup"},
    Measure{"Scaling efficiency", PlotKind::Efficiency, scaling_column},
    Measure{"Time per iteration", PlotKind::Lines, "iteration_s"},
    Measure{"Exposed communication", PlotKind::Lines, "exposed_comm_s"},
    Measure{"Time over the lower bound", PlotKind::Lines, "iteration_s", "lower_bound_s"},
};

ResultTable table_of(const SweepResult& result) {
  ResultTable table = *result.table;
  table.columns.insert(table.columns.end(), {series_column, network_column, scaling_column});
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const ResultRow& row = result.rows[i];
    Texts& cells = table.rows[i].cells;
    cells.push_back(row.series);
    cells.push_back(row.network);
    cells.push_back(fmt::format("{}", row.relative_efficiency));
  }
  return plot_table(std::move(table));
}

std::set<std::string> values_of(const ResultTable& table, const std::string& column) {
  std::set<std::string> values;
  for (const ResultLine& row : table.rows) values.emplace(table.text(row, column));
  return values;
}

// Several clusters at one size are compared in one panel; otherwise the workers are the axis.
PlotOptions usual_options(const ResultTable& table) {
  const auto differs = [&](const std::string& column) { return values_of(table, column).size() > 1; };
  PlotOptions options;
  options.x = differs(network_column) && !differs("workers") ? network_column : "workers";
  options.series = {series_column};
  options.panels.clear();
  for (const std::string column : {"profile", network_column, "collective", "fidelity"})
    if (column != options.x && differs(column)) options.panels.push_back(column);
  if (options.panels.empty()) options.panels = {"profile"};
  options.labels[network_column] = "cluster";
  return options;
}

std::optional<Figure> figure_if_possible(const ResultTable& table, const PlotOptions& options) {
  try {
    return plot_figure(table, options);
  } catch (const InputError&) {  // rows that do not match the options
    return std::nullopt;
  }
}

// Returns the figure of a measure: curves over several numbers, otherwise a row of dots for each series.
std::optional<Figure> figure_of(const Measure& measure, const ResultTable& table, PlotOptions options) {
  options.y = measure.y;
  options.over_column = measure.over;
  options.over_rows.clear();
  options.mark.clear();
  options.error.clear();
  options.y_limits = {};
  options.unit.reset();
  options.scale = 1;
  options.labels.emplace("speedup", "speed-up over one worker");
  if (options.divides()) {
    options.labels[options.y] = "time over the lower bound";
    options.labels["ideal"] = "Lower bound";
  } else if (options.y == scaling_column) {
    options.unit = "%";
    options.scale = 0.01;
  } else if (options.y.ends_with("_s")) {
    double longest = 0;
    for (const ResultLine& row : table.rows) longest = std::max(longest, table.number(row, options.y));
    const FittingUnit unit = unit_of_duration(longest);
    options.unit = unit.name;
    options.scale = unit.size;
  }
  const std::set<std::string> places = values_of(table, options.x);
  const bool numbers = std::ranges::all_of(places, [](const std::string& text) { return as_number(text).has_value(); });
  options.kinds = {numbers && places.size() > 1 ? measure.curve : PlotKind::Dots};
  if (options.kinds.front() == PlotKind::Dots) options.x_limits = {};
  return figure_if_possible(table, options);
}

std::vector<ReportChart> charts_of(const SweepResult& result, const std::optional<PlotOptions>& planned) {
  const ResultTable table = table_of(result);
  std::vector<ReportChart> charts;
  PlotOptions options = usual_options(table);
  if (planned)
    if (auto figure = figure_if_possible(table, *planned)) {
      charts.push_back({"As planned", std::move(*figure)});
      options = *planned;
      if (options.x.empty()) options.x = "workers";
    }
  for (const Measure& measure : measures)
    if (auto figure = figure_of(measure, table, options)) charts.push_back({measure.name, std::move(*figure)});
  return charts;
}

std::string legend_html(const LegendEntry& entry, const std::string& ids) {
  constexpr double width = 28, height = 14;
  Drawing sample{.width = width, .height = height, .title = entry.name};
  entry.sample(sample, {3, 1.5, width - 6, height - 3});
  return fmt::format("<span data-series=\"{0}\">{1}{0}</span>\n", escaped(displayable(entry.name)),
                     to_svg(sample, ids));
}

std::string panel_html(const Figure& figure, const FigurePanel& panel, const std::string& ids) {
  constexpr double margin = style::margin / 2;
  Drawing drawing{.width = figure.panel_width + 2 * margin,
                  .title = panel.title.empty() ? figure.title : panel.title + ": " + figure.title};
  drawing.height = panel.add(drawing, {margin, 0, figure.panel_width, 0}) + margin;
  const std::string caption =
      panel.title.empty() ? "" : fmt::format("<figcaption>{}</figcaption>\n", escaped(displayable(panel.title)));
  return fmt::format("<figure>{}{}</figure>\n", caption, to_svg(drawing, ids));
}

std::string chart_html(const ReportChart& chart, const std::string& id, bool first) {
  std::string legend, panels;
  for (std::size_t i = 0; i < chart.figure.panels.size(); ++i)
    panels += panel_html(chart.figure, chart.figure.panels[i], fmt::format("{}-{}-", id, i));
  for (std::size_t i = 0; i < chart.figure.legend.size(); ++i)
    legend += legend_html(chart.figure.legend[i], fmt::format("{}-legend-{}-", id, i));
  const std::string& note = chart.figure.note;
  return fmt::format(
      "<details class=\"chart\"{}>\n<summary>{}</summary>\n{}<div class=\"panels\">\n{}</div>\n{}</details>\n",
      first ? " open" : "", escaped(chart.name), legend.empty() ? "" : "<div class=\"legend\">\n" + legend + "</div>\n",
      panels, note.empty() ? "" : fmt::format("<p class=\"note\">{}</p>\n", escaped(note)));
}

}  // namespace

std::string charts_html(const SweepResult& result, const std::optional<PlotOptions>& planned) {
  const std::vector<ReportChart> charts = charts_of(result, planned);
  std::string html;
  for (std::size_t i = 0; i < charts.size(); ++i) html += chart_html(charts[i], fmt::format("chart-{}", i), i == 0);
  return html;
}

}  // namespace allreplay
