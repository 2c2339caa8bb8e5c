// The plan of a pipeline: a program for each rank, sends between them, and what data parallelism sends in each rank.
// Strategies plan each chunk by itself, as a model of its own on the workers of a gradient group; the plans of a rank's
// chunks share its lanes.
#pragma once

#include <vector>

#include "sim/pipeline/parallelism.hpp"
#include "sim/schedule/strategy.hpp"

namespace allreplay {

struct PipelineRequest {
  const Pipeline& pipeline;
  const Profile& profile;                ///< with the collectives inside layers in the layers' times
  const std::vector<double>& sends;      ///< by chunk: the bytes that it hands to the next, of one micro-batch
  const std::vector<double>& slowdowns;  ///< by rank: how many times as long it computes
  const Strategy& strategy;
  const StrategyOptions& options;
  const ParallelOptions& parallel;
  BlockCost cost;  ///< of a block, in the operation that the backward pass can hide
};

/// Whether the strategy plans the chunks of a pipeline, too.
bool plans_pipelines(const Strategy& strategy);

/// Of any strategy that does. REQUIRES: plans_pipelines(request.strategy).
Plan pipeline_plan(const PipelineRequest& request);

// Of each kind of them.
Plan pipelined_blocks(const PipelineRequest& request);    ///< whose row has a bucket schedule
Plan pipelined_megatron(const PipelineRequest& request);  ///< megatron
Plan pipelined_fsdp(const PipelineRequest& request);      ///< fsdp2

}  // namespace allreplay
