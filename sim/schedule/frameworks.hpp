// How today's frameworks fuse gradients.
#pragma once

#include "sim/schedule/strategy.hpp"

namespace allreplay {

inline constexpr Bytes ddp_bucket_cap = Bytes{25} << 20;
inline constexpr Bytes ddp_first_bucket = Bytes{1} << 20;     ///< where no cap is given: communication starts early
inline constexpr Bytes horovod_threshold = Bytes{128} << 20;  ///< since 0.21

/// PyTorch DistributedDataParallel: tensors in reverse order fill buckets; a bucket closes once it reaches its cap, and
/// buckets go strictly in order (Li et al., VLDB 2020, section 3.2).
BucketSchedule schedule_ddp(const PlanRequest& request);

/// Horovod: at each tick, what has become ready since the last is fused up to the threshold; a tensor above it
/// goes alone (Sergeev, Del Balso 2018). Blocks are sent one after another, without waiting for ticks.
BucketSchedule schedule_horovod(const PlanRequest& request);

}  // namespace allreplay
