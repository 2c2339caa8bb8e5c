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
  std::string name;               ///< to be written in the column from below
  std::vector<ColumnPart> parts;  ///< on each other
  std::string above;              ///< a number to stand above it
  bool crossed = false;           ///< it does not count: a cross is over its end
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
  bool names_within = false;  ///< each column's name within its lowest part
  NumbersAbove numbers = NumbersAbove::None;
  double height = 190;  ///< of the field
};

/// Writes numbers above the columns of all charts alike, and names within them where these ask for any: as every column
/// has the width for it, or not at all. The axis goes on as far as numbers reach. `width`: of the room of each chart.
void write_alike(std::vector<ColumnChart>& charts, double width);

/// As add_chart() does. REQUIRES: at least one column; no negative number, and a linear axis (std::logic_error).
double add_column_chart(Drawing& drawing, const Box& room, const ColumnChart& chart);

}  // namespace allreplay
