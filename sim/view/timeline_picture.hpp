// Iterations as Gantt charts, as the papers draw them.
#pragma once

#include <vector>

#include "sim/picture/drawing.hpp"
#include "sim/report/report.hpp"

namespace allreplay {

/// The last replayed iteration of each outcome, one below the other on the same time axis: the compute stream of each
/// class of workers from the start of its B_L to the end of its F_L, the collectives in flight, where computing waits,
/// how long the iteration and its lower bound are. Shapes carry their kind: "backward", "forward", "encode", "decode",
/// "waiting", "collective", "reduce-scatter", "all-gather", "exposed" (on a collective: computing waits meanwhile),
/// "iteration", "bound". What is thinner than a pixel is drawn together with its neighbours. REQUIRES: outcomes differ
/// in their strategy only; at least one.
Drawing timeline_picture(const std::vector<Outcome>& outcomes);

}  // namespace allreplay
