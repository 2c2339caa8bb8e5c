#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/output/view/plot_figure.hpp"

namespace allreplay {

namespace {

constexpr double curves_height = 205;

// Returns the value of a row that a curve of this kind shows.
double curve_value(const PlotData& data, PlotKind kind, std::size_t row) {
  if (kind == PlotKind::Efficiency) return 100 * data.efficiencies[row].value;
  return kind == PlotKind::Lines ? data.y[row] : data.table.number(*data.rows[row], "speedup");
}

// Names the efficiency with the numbers of workers that it is relative to.
std::string efficiency_name(const PlotData& data, const PlotPanel& panel) {
  std::set<std::int64_t> references;
  for (const PlotSeries& series : panel.series)
    for (const PlotPoint& point : series.points) references.insert(data.efficiencies[point.row].reference_workers);
  if (references == std::set<std::int64_t>{1}) return "scaling efficiency (%)";
  return fmt::format("scaling efficiency over {} workers (%)", fmt::join(references, " or "));
}

class Curves {
 public:
  Curves(const PlotData& data, const std::vector<PlotPanel>& panels)
      : data_(data), options_(data.options), looks_(looks_of(data, panels)) {}

  Chart chart(const PlotPanel& panel, PlotKind kind) const {
    const PlotPlaces places = places_of(panel);
    Chart chart{.height = curves_height};
    const bool logarithmic = options_.log && places.numbers && places.at(places.names.front()) > 0;
    chart.x = places_axis(options_.axis_name(options_.x), places, logarithmic);
    double least = std::numeric_limits<double>::infinity(), greatest = 0;
    for (const PlotSeries& series : panel.series) {
      Series curve{.name = series.name, .style = looks_.at(series.name)};
      for (const PlotPoint& point : series.points) {
        curve.points.push_back({places.at(point.x), curve_value(data_, kind, point.row)});
        least = std::min(least, curve.points.back().y);
        greatest = std::max(greatest, curve.points.back().y);
        if (!data_.rows[point.row]->fits) curve.crossed.push_back(curve.points.back());
      }
      std::stable_sort(curve.points.begin(), curve.points.end(), [](auto& a, auto& b) { return a.x < b.x; });
      chart.series.push_back(std::move(curve));
    }
    chart.y = axis_of(panel, kind, least, greatest, logarithmic);
    add_ideal(chart, kind);
    return chart;
  }

 private:
  ChartAxis axis_of(const PlotPanel& panel, PlotKind kind, double least, double greatest, bool logarithmic) const {
    if (kind == PlotKind::Efficiency) {
      ChartAxis axis{.name = efficiency_name(data_, panel)};
      if (greatest <= 100) axis.to = 100;
      return axis;
    }
    if (kind == PlotKind::Speedup) {
      ChartAxis axis{.name = "speed-up over one worker"};
      if (logarithmic && least > 0) axis.spacing = Spacing::Log2;
      return axis;
    }
    ChartAxis axis{.name = options_.name_of_y()};
    axis.from_zero = false;
    if (options_.log && least > 0 && greatest > 6 * least) axis.spacing = Spacing::Log2;
    return axis;
  }

  void add_ideal(Chart& chart, PlotKind kind) const {
    if (!options_.ideal || (kind == PlotKind::Speedup && options_.x != "workers") ||
        (kind == PlotKind::Lines && !options_.divides()))
      return;
    const auto named = options_.labels.find("ideal");
    const std::string name = named != options_.labels.end() ? named->second
                             : kind == PlotKind::Lines      ? "Equal"
                                                            : "Ideal";
    const double first = chart.x.ticks.front(), last = chart.x.ticks.back();
    const double level = kind == PlotKind::Efficiency ? 100 : 1;
    Series ideal{.name = name, .points = {{first, level}, {last, level}}, .reference = true};
    if (kind == PlotKind::Speedup) ideal.points = {{first, first}, {last, last}};
    chart.series.push_back(std::move(ideal));
  }

  const PlotData& data_;
  const PlotOptions& options_;
  std::map<std::string, std::size_t> looks_;
};

}  // namespace

Figure curves_figure(const PlotData& data) {
  const std::vector<PlotPanel> panels = panels_of(data);
  if (data.options.x == "workers")
    for (const ResultLine* row : data.rows) data.table.number(*row, "workers");
  const Curves curves(data, panels);
  std::vector<std::pair<std::string, Chart>> charts;
  for (const PlotPanel& panel : panels)
    for (const PlotKind kind : data.options.kinds) charts.emplace_back(panel.title, curves.chart(panel, kind));
  Figure figure = figure_of(data, charts.size(),
                            fmt::format("{}, by {}", charts.front().second.y.name, charts.front().second.x.name));
  for (auto& [title, chart] : charts) add_panel(figure, title, std::move(chart));
  return figure;
}

}  // namespace allreplay
