// How today's frameworks fuse gradients.
#pragma once

#include "sim/schedule/strategy.hpp"

namespace allreplay {

/// PyTorch DistributedDataParallel: tensors in reverse order fill buckets; a bucket closes once it reaches its cap
/// (the first has its own, smaller one), and buckets go strictly in order (Li et al., VLDB 2020, section 3.2).
Draft draft_ddp(const PlanRequest& request);

/// Horovod: at each cycle, what has become ready since the last is fused up to the threshold; a tensor above it
/// goes alone (Sergeev, Del Balso 2018).
Draft draft_horovod(const PlanRequest& request);

}  // namespace allreplay
