// Predicted against measured, a mark for every point.
#pragma once

#include "sim/calibration/validation.hpp"
#include "sim/picture/drawing.hpp"

namespace allreplay {

/// By group, on logarithmic axes; on the line the prediction is right, between the dashed ones within a quarter.
Drawing validation_picture(const Validation& validation);

}  // namespace allreplay
