// Dots in rows: many numbers of many names, without curves that hide each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/output/picture/drawing.hpp"
#include "sim/output/picture/scale.hpp"

namespace allreplay {

struct ChartDot {
  double value = 0;
  std::size_t style = 0;  ///< see series_look()
  std::string title;      ///< shown when hovering
  bool crossed = false;   ///< it does not count, and gets a cross
};

struct DotRow {
  std::string name;
  std::vector<ChartDot> dots;
};

struct DotChart {
  ChartAxis x;
  std::vector<DotRow> rows;
  std::optional<double> reference;  ///< a line through all rows
};

/// Draws the chart as add_chart() does. REQUIRES: at least one dot; what Scale requires (std::logic_error).
double add_dot_chart(Drawing& drawing, const Box& room, const DotChart& chart);

}  // namespace allreplay
