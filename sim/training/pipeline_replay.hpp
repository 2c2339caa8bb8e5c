// A pipeline's plan, replayed.
#pragma once

#include "sim/training/job.hpp"

namespace allreplay {

/// Replays the plan, one iteration where all ranks start together, else until two are alike; and, unless the scenario
/// does without parts, twice more: with collectives of data parallelism taking no time, and with sends taking none
/// either. The differences are what is exposed (docs/pipelines.md). REQUIRES: the
/// plan is a pipeline's, and the job was made for it.
Result simulate_pipeline(const Job& job, const Plan& plan);

/// What a search asks of it: one replay.
struct PipelineCost {
  double iteration_s = 0, memory_bytes = 0;
};
PipelineCost pipeline_cost(const Job& job, const Plan& plan);

/// What simulate_pipeline() adds, for one rank, of what simulate() found: what users ask of parallelism inside layers.
void add_parallel_result(const Job& job, const Plan& plan, Result& result);

}  // namespace allreplay
