#include "sim/pipeline/pipeline_plan.hpp"

#include "sim/core/named.hpp"

namespace allreplay {
namespace {

struct ShardedInPipelines {
  std::string_view name;
  Plan (*plan)(const PipelineRequest&);
};

// A way to shard plans chunks in a way of its own, or not at all.
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
