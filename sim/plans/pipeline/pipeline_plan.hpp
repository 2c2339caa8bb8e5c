// The plan of a pipeline: a program for each rank, sends between ranks, and the collectives of data parallelism within
// each rank. A strategy plans each chunk as a separate model on the workers of a gradient group; the chunks of a rank
// share its lanes.
#pragma once

#include <vector>

#include "sim/plans/pipeline/parallelism.hpp"
#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

struct PipelineRequest {
  const Pipeline& pipeline;
  const Profile& profile;                ///< layers' times include the collectives inside layers
  const std::vector<double>& sends;      ///< by chunk: bytes to the next chunk, per micro-batch
  const std::vector<double>& slowdowns;  ///< by rank: factor on its compute times
  const Strategy& strategy;
  const StrategyOptions& options;
  const ParallelOptions& parallel;
  BlockCost cost;  ///< of the block's collective that overlaps with the backward pass
};

/// True if the strategy supports pipelines.
bool plans_pipelines(const Strategy& strategy);

/// Plans a pipeline with any strategy that supports it. REQUIRES: plans_pipelines(request.strategy).
Plan pipeline_plan(const PipelineRequest& request);

// The planner of each kind of strategy.
Plan pipelined_blocks(const PipelineRequest& request);    ///< strategies with a bucket schedule
Plan pipelined_megatron(const PipelineRequest& request);  ///< megatron
Plan pipelined_fsdp(const PipelineRequest& request);      ///< fsdp2

}  // namespace allreplay
