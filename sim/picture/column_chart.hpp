// Columns in groups: one number each, or a stack of parts.
#pragma once

#include <string>
#include <vector>

#include "sim/picture/drawing.hpp"
#include "sim/picture/scale.hpp"

namespace allreplay {

struct ColumnPart {
  double value = 0;  ///< at least 0
  Look look;
  std::string name;  ///< what it says under the pointer
};

struct ChartColumn {
  std::string name;               ///< written in the column from below, if the chart says so
  std::vector<ColumnPart> parts;  ///< on each other
  std::string above;              ///< what stands above it, where there is room in every column
  bool crossed = false;           ///< it does not count: a cross is over its end
};

struct ColumnGroup {
  std::string name;
  std::vector<ChartColumn> columns;
};

struct ColumnChart {
  std::string x_name;
  ChartAxis y;
  std::vector<ColumnGroup> groups;
  bool names_within = false;  ///< where each has the room for its name, within its lowest part
  double height = 190;        ///< of the field
};

/// As add_chart() does. REQUIRES: at least one column; no negative number, and a linear axis (std::logic_error).
double add_column_chart(Drawing& drawing, const Box& room, const ColumnChart& chart);

}  // namespace allreplay
