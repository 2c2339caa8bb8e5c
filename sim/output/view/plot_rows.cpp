// Draws rows that form no series: histograms.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

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
    limit(chart.x, options.y_limits);
    chart.y = {.name = options.axis_name("rows")};
    std::vector<double> others;
    std::vector<std::pair<std::string, double>> marks;
    for (const std::size_t row : rows) {
      if (!options.y_limits.contain(data.y[row])) continue;
      if (options.mark.empty() || !selects(data.table, options.mark, *data.rows[row])) {
        others.push_back(data.y[row]);
        continue;
      }
      std::vector<std::string> columns;
      for (const auto& condition : options.mark) columns.push_back(condition.first);
      marks.emplace_back(title_of(data, *data.rows[row], columns), data.y[row]);
    }
    if (others.empty() && marks.empty())
      throw InputError({data.table.file, ""}, fmt::format("{} has no row between the limits", title),
                       "\"ylim\" around some values");
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

}  // namespace allreplay
