// Dots in rows: many numbers of many names, none over another's curve.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/picture/drawing.hpp"
#include "sim/picture/scale.hpp"

namespace allreplay {

struct ChartDot {
  double value = 0;
  std::size_t style = 0;  ///< see series_look()
  std::string title;      ///< what it says under the pointer
  bool crossed = false;   ///< it does not count: a cross is over it
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

/// As add_chart() does. REQUIRES: at least one dot; what Scale asks for (std::logic_error).
double add_dot_chart(Drawing& drawing, const Box& room, const DotChart& chart);

}  // namespace allreplay
