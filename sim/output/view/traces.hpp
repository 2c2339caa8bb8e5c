// Timelines for ui.perfetto.dev and chrome://tracing, as Chrome trace events (JSON).
#pragma once

#include <string>

#include "sim/replay/training/link_usage.hpp"
#include "sim/studies/experiment/run.hpp"

namespace allreplay {

struct Diagnosis;
struct JobsFile;
struct JobsRecord;
struct JobsResult;

/// Returns the last replayed iteration. Each class of workers, or rank of a pipeline, is a process with a compute
/// thread; the network is a process with a thread per row of TimelineRows::network, its blocks named by their tensors.
/// Arrows lead from the task that makes a block ready to its collective, and from there to the task of the first class
/// that waits for it. Memory is a counter (TimelineRows::memory); a pipeline's passes enclose their layers. With
/// `usage`, a counter shows the utilisation of the busiest link of each kind, a transfer's bytes spread evenly over its
/// time in flight. Times are microseconds in whole nanoseconds, exact for readers. Bars of the first class, and of the
/// transfers that it takes part in, are written as PyTorch's profiler writes kernels.
std::string trace_events(const Outcome& outcome, const LinkUsage* usage = nullptr);

/// Returns the last iterations of each job (times in microseconds): a process per job with a thread per class of
/// workers and per lane (several if transfers of a lane overlap), and one process for events and background traffic.
std::string jobs_trace(const JobsResult& result, const JobsFile& file, const JobsRecord& record);

/// Returns the replayed steps one after another in the format of the straggler analyser's traces (a process for each
/// replica, a thread for each stage); reading them again with `allreplay diagnose` gives the same replay. The ideal
/// step has processes of its own; its events have the category `ideal`, which readers skip.
std::string diagnosis_trace(const Diagnosis& known);

}  // namespace allreplay
