// The parts of a layer's pass. Times of passes include collectives inside the layer, which are drawn at its end.
#pragma once

#include <vector>

#include "sim/replay/training/job.hpp"

namespace allreplay {

struct PassPart {
  Activity activity = Activity::Forward;
  Time start{0}, end{0};
};

/// Cuts the span of a task: computing, then collectives among tp or cp, then token exchange. A slow worker and
/// interference stretch all of them by the same factor. Returns the whole span if there are none, or if the task is not
/// a pass.
std::vector<PassPart> parts_of(const Job& job, const Unrolled& unrolled, TaskId task, const Span& span);

/// Returns the bytes of each collective inside the layer whose pass has this label: of its token exchanges, or of the
/// others.
std::vector<Bytes> bytes_inside(const Job& job, const Label& pass, Activity part);

}  // namespace allreplay
