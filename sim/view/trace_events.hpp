// A timeline for chrome://tracing and ui.perfetto.dev.
#pragma once

#include <string>

#include "sim/report/report.hpp"
#include "sim/training/link_usage.hpp"

namespace allreplay {

/// The last replayed iterations as Chrome trace events (JSON): a process per class of workers with its compute
/// thread, a process for the network with a thread per lane and block in flight at once, blocks named by their tensors,
/// an arrow from the task that makes a block ready to its collective, another from there to what waits for it on the
/// first class, and a worker's memory as a counter (TimelineRows::memory). In a pipeline a process is a rank, with its
/// passes around their layers, and its memory. With `usage`, for each kind of link the use of the busiest as a counter,
/// too, a transfer's bytes spread evenly over its time in flight. Times in microseconds, in whole nanoseconds that
/// readers find again. Bars of the first class, and of the network that it has part in, are kernels as PyTorch's
/// profiler writes them.
std::string trace_events(const Outcome& outcome, const LinkUsage* usage = nullptr);

}  // namespace allreplay
