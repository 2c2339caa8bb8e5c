// Horizontal bars, each a stack of parts; values below 0 go to the left.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/output/picture/drawing.hpp"
#include "sim/output/picture/scale.hpp"

namespace allreplay {

struct BarPart {
  std::string name;            ///< in the legend
  std::vector<double> values;  ///< by bar; at least 0 if several are stacked
  std::optional<Look> look;    ///< by default one that differs from its neighbours, even in grey
};

/// A line across all bars.
struct BarMark {
  std::string name;  ///< in the legend
  double value = 0;
};

struct BarChart {
  std::string title;
  std::string verdict;  ///< below the title
  std::string note;     ///< below the picture, small
  ChartAxis value;      ///< bars beyond its `to` are cut off
  std::vector<std::string> bars;
  std::vector<BarPart> parts;
  std::vector<std::string> ends;  ///< texts at the right of the bars; none if empty
  std::optional<BarMark> mark;
  double width = 760;  ///< at least; long names make it wider
};

/// REQUIRES: as many values in each part (and ends, if any) as bars; finite, and a linear axis (std::logic_error).
Drawing draw(const BarChart& chart);

}  // namespace allreplay
