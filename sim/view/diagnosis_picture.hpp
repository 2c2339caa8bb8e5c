// Pictures of a diagnosis: who is slow, and a step as measured and as simulated.
#pragma once

#include "sim/diagnosis/diagnosis.hpp"
#include "sim/picture/drawing.hpp"

namespace allreplay {

/// Workers, replicas by stages, in the colour of how much longer a step takes if they alone are as slow as they were.
Drawing workers_picture(const Diagnosis& known);

/// The step that lost most: measured above, replayed below, on one axis; of many workers the worst.
Drawing step_picture(const Diagnosis& known);

}  // namespace allreplay
