// Megatron-LM's Megatron-FSDP with parameters, gradients and optimizer sharded, and its hybrids (docs/sharding.md).
#pragma once

#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

Plan plan_megatron_fsdp(const PlanRequest& request);

}  // namespace allreplay
