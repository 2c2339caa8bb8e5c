// torchtitan's SimpleFSDP: PyTorch's compiler buckets and moves the collectives of single tensors (docs/sharding.md).
#pragma once

#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

Plan plan_simple_fsdp(const PlanRequest& request);

}  // namespace allreplay
