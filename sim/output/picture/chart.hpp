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

#include "sim/output/picture/drawing.hpp"
#include "sim/output/picture/drawing_parts.hpp"
#include "sim/output/picture/scale.hpp"

namespace allreplay {

/// A vertical line that shows how far a value may vary, in the units of the axes.
struct ErrorBar {
  double x = 0, low = 0, high = 0;
};

struct Series {
  std::string name;  ///< in the legend; "" for none
  std::vector<Position> points;
  std::vector<Position> crossed = {};  ///< points that do not count, which get a cross
  std::vector<ErrorBar> errors = {};   ///< of points
  std::vector<ErrorBar> band = {};     ///< the ends of a filled area behind the line, by x
  bool line = true;                    ///< join the points, in their order
  bool markers = true;                 ///< mark each point
  std::optional<std::size_t> style;    ///< for series_look(), the same for related series; by default the index
  bool reference = false;              ///< grey dashes behind all others, without markers: an ideal, a bound
  double bar_width = 0;                ///< if above 0: the width of bars up to each point, instead of line and marker
};

struct Chart {
  std::string title;
  std::string note;  ///< below the picture, small
  ChartAxis x, y;    ///< what is beyond their `from` and `to` is cut off
  std::vector<Series> series;
  double width = 640;
  double height = 340;  ///< of the field between the axes
};

/// REQUIRES: at least one point; finite coordinates, positive on logarithmic axes (else std::logic_error).
Drawing draw(const Chart& chart);

/// Draws the same without title, legend and note, at the top of `room`, as wide as it. Returns the y of the next part.
double add_chart(Drawing& drawing, const Box& room, const Chart& chart);

std::vector<LegendEntry> legend_of(const Chart& chart);

}  // namespace allreplay
