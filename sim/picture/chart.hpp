// Numbers against numbers: lines and points on linear or logarithmic axes.
//
//   Chart chart;
//   chart.title = "All-reduce on 16 workers";
//   chart.x = {.name = "size", .spacing = Spacing::Log2, .label = [](double b) { return format_size(Bytes(b)); }};
//   chart.y = {.name = "time (ms)", .spacing = Spacing::Log10};
//   chart.series.push_back({.name = "measured", .points = measured, .line = false});
//   chart.series.push_back({.name = "a + b·M", .points = fitted, .markers = false});
//   write_picture("fit.svg", draw(chart));
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/picture/drawing.hpp"
#include "sim/picture/scale.hpp"

namespace allreplay {

struct Series {
  std::string name;  ///< in the legend; "" for none
  std::vector<Position> points;
  bool line = true;     ///< whether the points are joined, in their order
  bool markers = true;  ///< whether each point is marked
  std::optional<std::size_t>
      style;  ///< colour, marker and dashes; series with the same one belong together (its place)
};

struct Chart {
  std::string title;
  std::string note;  ///< below the picture, small
  ChartAxis x, y;
  std::vector<Series> series;
  double width = 640;
  double height = 340;  ///< of the field between the axes
};

/// REQUIRES: at least one point; finite ones, and positive where the axis is logarithmic (std::logic_error).
Drawing draw(const Chart& chart);

}  // namespace allreplay
