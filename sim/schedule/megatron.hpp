// Megatron-Core's DistributedDataParallel, with its distributed optimizer or without. Precedence: docs/sharding.md.
#pragma once

#include "sim/schedule/strategy.hpp"

namespace allreplay {

/// Throws InputError for gathers that are to overlap where nothing makes them.
Plan plan_megatron(const PlanRequest& request);

}  // namespace allreplay
