// A scatter plot of predicted over measured values.
#pragma once

#include "sim/output/picture/drawing.hpp"
#include "sim/studies/calibration/validation.hpp"

namespace allreplay {

/// Draws the points by group on logarithmic axes, with a line for exact predictions and dashed lines at 0.8 and 1.25
/// times the measured value.
Drawing validation_picture(const Validation& validation);

}  // namespace allreplay
