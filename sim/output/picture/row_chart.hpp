// Rows with names along one axis: bars, each a stack of parts, and dots.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/output/picture/drawing.hpp"
#include "sim/output/picture/drawing_parts.hpp"
#include "sim/output/picture/scale.hpp"

namespace allreplay {

struct RowPart {
  std::string name;  ///< in the legend, and shown when hovering
  double value = 0;  ///< below 0 it goes to the left; at least 0 if several are stacked
  Look look;
};

/// The ends of a line that shows how far a value may vary.
struct RowError {
  double low = 0, high = 0;
};

struct RowDot {
  double value = 0;
  std::size_t style = 0;  ///< see series_look()
  std::string title;      ///< shown when hovering
  bool crossed = false;   ///< it does not count, and gets a cross
  std::optional<RowError> error = {};
};

/// Five quantiles of a sample: a box between the quartiles, crossed by the median, and a line to the extremes.
struct RowBox {
  double least = 0, low = 0, middle = 0, high = 0, most = 0;
  Look look;
  std::string title;  ///< shown when hovering
};

struct ChartRow {
  std::string name;
  std::string series;          ///< rows of one series are highlighted together
  std::vector<RowPart> parts;  ///< end to end
  std::vector<RowDot> dots;
  std::optional<RowBox> box = {};
  std::string end;                     ///< a text on the right
  std::optional<RowError> error = {};  ///< of the bar's end
  bool crossed = false;                ///< the bar does not count, and gets a cross
  bool starts_group = false;           ///< a gap is above it
};

/// A line across all rows.
struct RowMark {
  std::string name;  ///< in the legend; "" for none
  double value = 0;
};

struct RowChart {
  std::string title;
  std::string verdict;  ///< below the title
  std::string note;     ///< below the picture, small
  ChartAxis x;          ///< bars and errors end at its limits; dots must be within
  std::vector<ChartRow> rows;
  std::optional<RowMark> mark;
  double row_height = 25;
};

/// REQUIRES: at least one row; finite values, and a linear axis if there are bars (std::logic_error).
Drawing draw(const RowChart& chart);

/// Draws the rows and their axis as add_chart() does.
double add_row_chart(Drawing& drawing, const Box& room, const RowChart& chart);

/// Returns an entry for each name of a part that is drawn, except in a row of that name, and for the mark.
std::vector<LegendEntry> legend_of(const RowChart& chart);

}  // namespace allreplay
