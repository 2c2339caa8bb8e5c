// Numbers against numbers: lines, points and bars on linear or logarithmic axes.
//
//   Chart chart;
//   chart.title = "All-reduce on 16 workers";
//   chart.x = {.name = "size", .spacing = Spacing::Log2, .label = [](double b) { return format_size(Bytes(b)); }};
//   chart.y = {.name = "time (ms)", .spacing = Spacing::Log10};
//   chart.series.push_back({.name = "measured", .points = measured, .line = false});
//   chart.series.push_back({.name = "a + b·M", .points = fitted, .markers = false});
//   write_picture(files, "fit.svg", draw(chart));
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/picture/drawing.hpp"
#include "sim/picture/drawing_parts.hpp"
#include "sim/picture/scale.hpp"

namespace allreplay {

struct Series {
  std::string name;  ///< in the legend; "" for none
  std::vector<Position> points;
  std::vector<Position> crossed = {};  ///< those of the points that do not count: a cross is over them
  bool line = true;                    ///< whether the points are joined, in their order
  bool markers = true;                 ///< whether each point is marked
  std::optional<std::size_t>
      style;  ///< colour, marker and dashes (series_look()); series with the same one belong together (its place)
  bool reference = false;  ///< grey dashes behind all others, without markers: an ideal, a bound
  double bar_width = 0;    ///< if above 0: a bar up to each point, so wide, instead of line and marker
};

struct Chart {
  std::string title;
  std::string note;  ///< below the picture, small
  ChartAxis x, y;    ///< where `y.to` is given, curves may leave the field there; their names say how far they go
  std::vector<Series> series;
  bool names_at_ends = false;  ///< of the curves; otherwise in a legend
  double width = 640;
  double height = 340;  ///< of the field between the axes
};

/// REQUIRES: at least one point; finite ones, and positive where the axis is logarithmic (std::logic_error).
Drawing draw(const Chart& chart);

/// The same without title, legend and note, from the upper left corner of `room` on and as wide; returns where the next
/// thing may begin below it.
double add_chart(Drawing& drawing, const Box& room, const Chart& chart);

std::vector<LegendEntry> legend_of(const Chart& chart);

/// Whether names at the ends leave most of the width to the curves.
bool names_fit(const Chart& chart, double width);

}  // namespace allreplay
