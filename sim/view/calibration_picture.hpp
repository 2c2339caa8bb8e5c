// The picture that the command `calibrate` draws.
#pragma once

#include "sim/collective/calibration.hpp"
#include "sim/picture/drawing.hpp"

namespace allreplay {

/// Times by size, measured and by line and table, on logarithmic axes; below, both divided by what was
/// measured.
Drawing calibration_picture(const Calibration& calibration);

}  // namespace allreplay
