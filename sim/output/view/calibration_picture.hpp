// The picture that the command `calibrate` draws.
#pragma once

#include <functional>
#include <string>

#include "sim/output/picture/drawing.hpp"
#include "sim/studies/calibration/calibration.hpp"

namespace allreplay {

/// A third cost model, drawn next to the line and the table if it has a name: seconds for a message of `bytes`.
struct DrawnPrice {
  std::string name;
  std::function<double(double bytes)> seconds;
};

/// Draws times over message sizes, as measured and as the line and the table predict them, on logarithmic axes; below
/// it, predicted over measured times.
Drawing calibration_picture(const Calibration& calibration, const DrawnPrice& other = {});

/// Puts one drawing above the other.
Drawing stacked(Drawing above, const Drawing& below);

}  // namespace allreplay
