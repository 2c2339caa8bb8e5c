// Writes a timeline for chrome://tracing and ui.perfetto.dev.
#pragma once

#include <string>

#include "sim/output/report/report.hpp"
#include "sim/replay/training/link_usage.hpp"

namespace allreplay {

/// Returns the last replayed iteration as Chrome trace events (JSON). Each class of workers, or rank of a pipeline, is
/// a process with a compute thread; the network is a process with a thread per row of TimelineRows::network, its blocks
/// named by their tensors. Arrows lead from the task that makes a block ready to its collective, and from there to the
/// task of the first class that waits for it. Memory is a counter (TimelineRows::memory); a pipeline's passes enclose
/// their layers. With `usage`, a counter shows the utilisation of the busiest link of each kind, a transfer's bytes
/// spread evenly over its time in flight. Times are microseconds in whole nanoseconds, exact for readers. Bars of the
/// first class, and of the transfers that it takes part in, are written as PyTorch's profiler writes kernels.
std::string trace_events(const Outcome& outcome, const LinkUsage* usage = nullptr);

}  // namespace allreplay
