// Bars that lie, one below the other, so that their names can be read; each is a stack of parts, or a group of them, or
// goes to the left of the line for what is below 0.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/picture/drawing.hpp"
#include "sim/picture/scale.hpp"

namespace allreplay {

struct BarPart {
  std::string name;            ///< in the legend
  std::vector<double> values;  ///< of each bar; of a stack of several at least 0
  std::optional<Look> look;    ///< otherwise one told from its neighbours in grey, too
};

/// A line across all bars.
struct BarMark {
  std::string name;  ///< in the legend
  double value = 0;
};

struct BarChart {
  std::string title;
  std::string verdict;  ///< below the title, in lines
  std::string note;     ///< below the picture, small
  ChartAxis value;      ///< what goes beyond its `to` is cut off
  std::vector<std::string> bars;
  std::vector<BarPart> parts;
  std::vector<std::string> ends;  ///< what stands at the right of each bar; none if empty
  bool stacked = true;            ///< the parts end to end; otherwise side by side
  std::optional<BarMark> mark;
  double width = 760;  ///< at least: long names make it wider
};

/// REQUIRES: as many values in each part (and ends, if any) as bars; finite, and a linear axis (std::logic_error).
Drawing draw(const BarChart& chart);

}  // namespace allreplay
