// Columns in groups: one number each, or a stack of parts.
#pragma once

#include <string>
#include <vector>

#include "sim/output/picture/drawing.hpp"
#include "sim/output/picture/scale.hpp"

namespace allreplay {

struct ColumnPart {
  double value = 0;  ///< at least 0
  Look look;
  std::string name;  ///< shown when hovering
};

struct ChartColumn {
  std::string name;               ///< written upwards inside the column
  std::vector<ColumnPart> parts;  ///< stacked, the lowest first
  std::string above;              ///< a number above the column
  bool crossed = false;           ///< it does not count, and gets a cross
};

struct ColumnGroup {
  std::string name;
  std::vector<ChartColumn> columns;
};

enum class NumbersAbove : std::uint8_t { None, Upwards, Across };

struct ColumnChart {
  std::string x_name;
  ChartAxis y;
  std::vector<ColumnGroup> groups;
  bool names_within = false;  ///< write each column's name inside its lowest part
  NumbersAbove numbers = NumbersAbove::None;
  double height = 190;  ///< of the field
};

/// Sets where all charts write the numbers above their columns, if each column has the width for it, and turns off
/// names inside columns unless all fit. Axes are extended to make room for the numbers. `width`: of each chart's room.
void write_alike(std::vector<ColumnChart>& charts, double width);

/// Draws the chart as add_chart() does. REQUIRES: columns, none negative, and a linear axis (else std::logic_error).
double add_column_chart(Drawing& drawing, const Box& room, const ColumnChart& chart);

}  // namespace allreplay
