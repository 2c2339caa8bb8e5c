// The picture that the command `calibrate` draws.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/output/picture/drawing.hpp"
#include "sim/studies/calibration/calibration.hpp"

namespace allreplay {

/// A fitted log. If `law` has a name, that third cost model is drawn next to the line and the table.
struct DrawnCalibration {
  const Calibration& fitted;
  std::string law;
  std::function<double(double bytes)> seconds;
};

/// Draws, for each log, times over message sizes, as measured and as the line and the table predict them, on
/// logarithmic axes; below it, predicted over measured times.
Drawing calibration_picture(const std::vector<DrawnCalibration>& logs);

}  // namespace allreplay
