// Draws iterations as Gantt charts.
#pragma once

#include <vector>

#include "sim/output/picture/drawing.hpp"
#include "sim/output/report/report.hpp"

namespace allreplay {

/// Draws the last replayed iteration of each outcome, one below the other on the same time axis: the compute stream of
/// each class of workers with its waits, the collectives in flight by lane, the length of the iteration and of its
/// lower bound, and memory over time (TimelineRows::memory). Shapes carry a kind: to_string(Activity), "waiting",
/// "exposed" (a collective that computation waits for), "iteration", "bound", "memory", "peak". Bars
/// thinner than a pixel are merged with their neighbours. REQUIRES: at least one outcome, all of one profile.
Drawing timeline_picture(const std::vector<Outcome>& outcomes);

}  // namespace allreplay
