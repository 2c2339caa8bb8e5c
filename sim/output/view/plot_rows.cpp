// Draws rows that form no series: histograms, and the trials of a tuning.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/core/units.hpp"
#include "sim/output/view/activity_looks.hpp"
#include "sim/output/view/plot_figure.hpp"

namespace allreplay {

namespace {

constexpr double rows_height = 190;

// Groups the rows by panel, in the order of the file.
std::vector<std::pair<std::string, std::vector<std::size_t>>> rows_by_panel(const PlotData& data,
                                                                            const std::vector<std::string>& columns) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> panels;
  for (std::size_t i = 0; i < data.rows.size(); ++i) {
    const std::string title = title_of(data, *data.rows[i], columns);
    auto found = std::find_if(panels.begin(), panels.end(), [&](const auto& one) { return one.first == title; });
    if (found == panels.end()) found = panels.insert(found, {title, {}});
    require_at_most(most_panels, panels.size(), "panels", data, *data.rows[i]);
    found->second.push_back(i);
  }
  return panels;
}

Series histogram_of(const std::vector<double>& values) {
  constexpr std::size_t bins = 60;
  Series series{.line = false, .markers = false};
  if (values.empty()) return series;
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  const double from = *least, width = *greatest > from ? (*greatest - from) / bins : std::max(1e-9, from / bins);
  std::array<double, bins> counts{};
  for (const double value : values) ++counts[std::min(bins - 1, static_cast<std::size_t>((value - from) / width))];
  for (std::size_t bin = 0; bin < bins; ++bin)
    series.points.push_back({from + width * (static_cast<double>(bin) + 0.5), counts[bin]});
  series.bar_width = width;
  return series;
}

}  // namespace

Figure histogram_figure(const PlotData& data) {
  const PlotOptions& options = data.options;
  const auto panels = rows_by_panel(data, options.panels);
  const std::string x_name = options.name_of_y();
  Figure figure = figure_of(data, panels.size(), options.axis_name("rows") + ", by " + x_name);
  std::vector<std::string> known_marks;
  for (const auto& [title, rows] : panels) {
    Chart chart{.height = rows_height};
    chart.x = {.name = x_name, .from_zero = false};
    chart.y = {.name = options.axis_name("rows")};
    std::vector<double> others;
    std::vector<std::pair<std::string, double>> marks;
    for (const std::size_t row : rows) {
      if (options.mark.empty() || !selects(data.table, options.mark, *data.rows[row])) {
        others.push_back(data.y[row]);
        continue;
      }
      std::vector<std::string> columns;
      for (const auto& condition : options.mark) columns.push_back(condition.first);
      marks.emplace_back(title_of(data, *data.rows[row], columns), data.y[row]);
    }
    Series bars = histogram_of(others);
    const auto named = options.labels.find("others");
    bars.name = named != options.labels.end() ? named->second : options.mark.empty() ? "rows" : "others";
    bars.style = 6;  // the lightest, because marks are drawn over it
    double most = 1;
    for (const Position& point : bars.points) most = std::max(most, point.y);
    chart.series.push_back(std::move(bars));
    for (const auto& [name, value] : marks) {
      auto place = std::find(known_marks.begin(), known_marks.end(), name);
      if (place == known_marks.end()) place = known_marks.insert(place, name);
      chart.series.push_back({.name = name,
                              .points = {{value, 0}, {value, most}},
                              .markers = false,
                              .style = 1 + static_cast<std::size_t>(place - known_marks.begin()) % 5});
    }
    add_panel(figure, title, std::move(chart));
  }
  return figure;
}

namespace {

// Parses a number, a size or a duration.
std::optional<double> quantity(const std::string& text) {
  for (const auto& read : {+[](const std::string& one) { return parse_number(one, {}); },
                           +[](const std::string& one) { return static_cast<double>(parse_size(one, {})); },
                           +[](const std::string& one) { return parse_duration(one, {}); }}) {
    try {
      return read(text);
    } catch (const InputError&) {
    }
  }
  return std::nullopt;
}

// Returns the axis of a tuned option, with labels at some of its values.
ChartAxis option_axis(const std::string& name, std::vector<std::pair<double, std::string>> values) {
  std::sort(values.begin(), values.end());
  ChartAxis axis{.name = name, .spacing = values.front().first > 0 ? Spacing::Log2 : Spacing::Linear};
  const double first = values.front().first, last = values.back().first;
  for (const auto& [value, text] : values) {
    const bool near =
        !axis.ticks.empty() && first > 0 && std::log(value / axis.ticks.back()) < std::log(last / first) / 4;
    if (axis.ticks.empty() || (value > axis.ticks.back() && (!near || value == last))) axis.ticks.push_back(value);
  }
  axis.label = [values](double at) {
    for (const auto& [value, text] : values)
      if (value == at) return text;
    return plain_number(at);
  };
  return axis;
}

Chart trials_chart(const PlotData& data, const std::vector<std::size_t>& rows) {
  const PlotOptions& options = data.options;
  const bool by_option = options.x != "trial";
  const auto seconds = [&](std::size_t row, const char* column) { return data.table.number(*data.rows[row], column); };
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const std::size_t row : rows) {
    least = std::min(least, seconds(row, "iteration_s"));
    most = std::max(most, seconds(row, "iteration_s"));
  }
  const FittingUnit unit = unit_of_duration(least);
  Series tried{.name = "Trial", .line = false, .style = 0};
  Series best{.name = "Best", .line = false, .style = 10};  // a star
  Series so_far{.name = "Best so far", .markers = false, .style = 1};
  std::vector<std::pair<double, std::string>> values;
  for (const std::size_t row : rows) {
    const std::string& text = data.table.text(*data.rows[row], options.x);
    const auto at = quantity(text);
    if (!at)
      throw InputError(data.table.place_of(*data.rows[row], options.x), fmt::format("is '{}'", text),
                       "a number, a size or a time; or draw by x=trial");
    values.emplace_back(*at, text);
    tried.points.push_back({*at, seconds(row, "iteration_s") / unit.size});
    const double so_far_at = seconds(row, "best_so_far_s") / unit.size;
    const bool is_best = so_far.points.empty() || so_far_at != so_far.points.back().y;
    if (!so_far.points.empty()) so_far.points.push_back({*at, so_far.points.back().y});  // a step
    so_far.points.push_back({*at, so_far_at});
    if (is_best) best.points = {tried.points.back()};
  }
  Chart chart{.height = rows_height};
  chart.x = by_option ? option_axis(options.axis_name(options.x), std::move(values))
                      : ChartAxis{.name = options.axis_name(options.x), .from_zero = false};
  chart.y = {.name = fmt::format("time per iteration ({})", unit.name), .from_zero = false};
  if (most > 3 * least && least > 0) chart.y.spacing = Spacing::Log2;  // keeps bad trials from flattening the others
  if (!by_option) chart.series.push_back(std::move(so_far));
  chart.series.push_back(std::move(tried));
  if (by_option) chart.series.push_back(std::move(best));
  return chart;
}

}  // namespace

Figure trials_figure(const PlotData& data) {
  std::vector<std::string> columns = data.options.panels;
  columns.insert(columns.end(), data.options.series.begin(), data.options.series.end());
  const auto panels = rows_by_panel(data, columns);
  Figure figure = figure_of(data, panels.size(), "trials of a tuning, by " + data.options.axis_name(data.options.x));
  for (const auto& [title, rows] : panels) add_panel(figure, title, trials_chart(data, rows));
  return figure;
}

}  // namespace allreplay
