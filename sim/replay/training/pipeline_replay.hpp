// Replays plans of pipelines.
#pragma once

#include "sim/replay/training/job.hpp"

namespace allreplay {

/// Replays one iteration if all ranks start together, else iterations until two are identical. If the scenario asks for
/// parts, also replays without the time of data-parallel collectives, and then also without that of sends; the
/// differences are the exposed times (docs/pipelines.md). REQUIRES: a pipeline's plan, and a job made for it.
Result simulate_pipeline(const Job& job, const Plan& plan);

/// The cost of a plan, from one replay, for searches.
struct PipelineCost {
  double iteration_s = 0, memory_bytes = 0;
};
PipelineCost pipeline_cost(const Job& job, const Plan& plan);

/// Adds to a result of simulate(), without a pipeline, the parallel part that simulate_pipeline() computes.
void add_parallel_result(const Job& job, const Plan& plan, Result& result);

}  // namespace allreplay
