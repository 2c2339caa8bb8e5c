// The picture that the command `calibrate` draws.
#pragma once

#include <functional>
#include <string>

#include "sim/calibration/calibration.hpp"
#include "sim/picture/drawing.hpp"

namespace allreplay {

/// Another law to draw beside line and table, if it has a name: of a size, seconds.
struct DrawnPrice {
  std::string name;
  std::function<double(double bytes)> seconds;
};

/// Times by size, measured and by line and table, on logarithmic axes; below, both divided by what was
/// measured.
Drawing calibration_picture(const Calibration& calibration, const DrawnPrice& other = {});

/// One drawing above the other.
Drawing stacked(Drawing above, const Drawing& below);

}  // namespace allreplay
