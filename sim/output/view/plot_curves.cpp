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
    chart.x = axis_below(places);
    const bool logarithmic = chart.x.spacing != Spacing::Linear;
    double least = std::numeric_limits<double>::infinity(), greatest = 0;
    for (const PlotSeries& series : panel.series) {
      Series curve{.name = series.name, .style = looks_.at(series.name)};
      for (const PlotPoint& point : series.points) {
        curve.points.push_back({places.at(point.x), curve_value(data_, kind, point.row)});
        if (options_.x_limits.contain(curve.points.back().x)) {
          least = std::min(least, curve.points.back().y);
          greatest = std::max(greatest, curve.points.back().y);
        }
        if (!data_.errors.empty() && data_.errors[point.row])
          curve.errors.push_back({places.at(point.x), data_.errors[point.row]->low, data_.errors[point.row]->high});
        if (!data_.bands.empty() && data_.bands[point.row])
          curve.band.push_back({places.at(point.x), data_.bands[point.row]->low, data_.bands[point.row]->high});
        if (!data_.rows[point.row]->fits) curve.crossed.push_back(curve.points.back());
      }
      std::ranges::stable_sort(curve.points, {}, &Position::x);
      std::ranges::stable_sort(curve.band, {}, &ErrorBar::x);
      chart.series.push_back(std::move(curve));
    }
    chart.y = axis_of(panel, kind, least, greatest, logarithmic);
    limit(chart.y, options_.y_limits);
    add_ideal(chart, kind, places);
    return chart;
  }

 private:
  // The places are the ticks, except on a logarithmic axis whose base was given: it has ticks at powers.
  ChartAxis axis_below(const PlotPlaces& places) const {
    const PlotLog& log = options_.log;
    const PlotLimits& limits = options_.x_limits;
    const bool asked = log.asked_x && log.x.value_or(Spacing::Linear) != Spacing::Linear;
    if (!places.numbers && (limits.given() || asked))
      throw InputError({data_.table.file, ""}, fmt::format("{} has names, not numbers", options_.x),
                       "no limits and no base of x");
    const bool positive = places.numbers && places.at(places.names.front()) > 0 && limits.from.value_or(1) > 0;
    if (asked && !positive)
      throw InputError({data_.table.file, ""}, "a logarithmic axis of x shows no numbers up to 0",
                       "\"xlim\" above 0, or log=false");
    ChartAxis axis =
        places_axis(options_.axis_name(options_.x), places, positive ? log.x.value_or(Spacing::Log2) : Spacing::Linear);
    limit(axis, limits);
    if (axis.spacing != Spacing::Linear && log.x) axis.ticks.clear();
    std::erase_if(axis.ticks, [&](double tick) { return !limits.contain(tick); });
    return axis;
  }

  ChartAxis axis_of(const PlotPanel& panel, PlotKind kind, double least, double greatest, bool logarithmic) const {
    if (kind == PlotKind::Efficiency) {
      ChartAxis axis{.name = efficiency_name(data_, panel)};
      if (greatest <= 100) axis.to = 100;
      axis.spacing = spacing_of_y(data_, false, Spacing::Linear, least);
      return axis;
    }
    if (kind == PlotKind::Speedup) {
      ChartAxis axis{.name = "speed-up over one worker"};
      axis.spacing = spacing_of_y(data_, logarithmic && least > 0, Spacing::Log2, least);
      return axis;
    }
    ChartAxis axis{.name = options_.name_of_y()};
    axis.from_zero = false;
    axis.spacing = spacing_of_y(data_, least > 0 && greatest > 6 * least, Spacing::Log2, least);
    return axis;
  }

  void add_ideal(Chart& chart, PlotKind kind, const PlotPlaces& places) const {
    if (!options_.ideal || (kind == PlotKind::Speedup && options_.x != "workers") ||
        (kind == PlotKind::Lines && !options_.divides()))
      return;
    const auto named = options_.labels.find("ideal");
    const std::string name = named != options_.labels.end() ? named->second
                             : kind == PlotKind::Lines      ? "Equal"
                                                            : "Ideal";
    const double first = places.at(places.names.front()), last = places.at(places.names.back());
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
