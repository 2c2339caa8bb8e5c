// Bars to both sides of a line: what each of several changes adds, or takes.
#pragma once

#include <string>
#include <vector>

#include "sim/picture/drawing.hpp"
#include "sim/picture/scale.hpp"

namespace allreplay {

struct TornadoBar {
  std::string name;
  double value = 0;   ///< below 0 to the left
  std::string end;    ///< what stands at the right
  bool pale = false;  ///< hatched: it is not to be had as it stands
};

struct TornadoChart {
  std::string title;
  std::string note;       ///< below the picture, small
  std::string pale_name;  ///< in the legend, what hatched bars are; "" if there is none
  ChartAxis value;
  std::vector<TornadoBar> bars;  ///< the first on top
  double width = 760;            ///< at least: long names make it wider
};

/// REQUIRES: finite values, a linear axis (std::logic_error).
Drawing draw(const TornadoChart& chart);

}  // namespace allreplay
