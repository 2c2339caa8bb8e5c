#include "sim/pipeline/pipeline_plan.hpp"

namespace allreplay {

Plan pipeline_plan(const PipelineRequest& request) {
  if (request.strategy.schedule) return pipelined_blocks(request);
  return request.strategy.name == "megatron" ? pipelined_megatron(request) : pipelined_fsdp(request);
}

}  // namespace allreplay
