// Pictures of a diagnosis: a heat map of slow workers, and a step as measured and simulated.
#pragma once

#include "sim/output/picture/drawing.hpp"
#include "sim/studies/diagnosis/diagnosis.hpp"

namespace allreplay {

/// Draws workers as replicas by stages; the colour says how much longer a step takes if only this worker is slow.
Drawing workers_picture(const Diagnosis& known);

/// Draws the step that lost most time as measured, replayed and ideal, one below the other on one time axis. If there
/// are many workers, only the slowest are shown.
Drawing step_picture(const Diagnosis& known);

}  // namespace allreplay
