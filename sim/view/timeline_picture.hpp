// Iterations as Gantt charts, as the papers draw them.
#pragma once

#include <vector>

#include "sim/picture/drawing.hpp"
#include "sim/report/report.hpp"

namespace allreplay {

/// The last replayed iteration of each outcome, one below the other on the same time axis: the compute stream of each
/// class of workers over its program, the collectives in flight, lane by lane, where computing waits, how long the
/// iteration and its lower bound are, memory over time (TimelineRows::memory). Shapes carry their kind: what
/// to_string(Activity) says, "waiting", "exposed" (on a collective: computing waits meanwhile), "iteration", "bound",
/// "micro-batch", "memory", "peak". What is thinner than a pixel is drawn together with its neighbours. `zoom` beyond 1
/// is for a page that zooms so far into it: what has a pixel then is drawn, what has room then is named (Text::zoom),
/// and the time axis bears the kind "time". REQUIRES: outcomes of one profile; at least one.
Drawing timeline_picture(const std::vector<Outcome>& outcomes, double zoom = 1);

}  // namespace allreplay
