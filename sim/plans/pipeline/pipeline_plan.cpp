#include "sim/plans/pipeline/pipeline_plan.hpp"

#include "sim/base/core/named.hpp"

namespace allreplay {
namespace {

struct ShardedInPipelines {
  std::string_view name;
  Plan (*plan)(const PipelineRequest&);
};

// The sharding strategies that support pipelines, with their planners.
constexpr ShardedInPipelines sharded[] = {{"fsdp2", pipelined_fsdp}, {"megatron", pipelined_megatron}};

}  // namespace

bool plans_pipelines(const Strategy& strategy) {
  return strategy.shards() ? row_named(sharded, strategy.name) != nullptr : strategy.in_pipelines;
}

Plan pipeline_plan(const PipelineRequest& request) {
  const Strategy& strategy = request.strategy;
  return strategy.shards() ? row_named(sharded, strategy.name)->plan(request) : pipelined_blocks(request);
}

}  // namespace allreplay
