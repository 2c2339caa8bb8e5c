// Fusion of gradients in PyTorch DDP and Horovod.
#pragma once

#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

inline constexpr Bytes ddp_bucket_cap = Bytes{25} << 20;
inline constexpr Bytes ddp_first_bucket = Bytes{1} << 20;     ///< if no cap is given; lets communication start early
inline constexpr Bytes horovod_threshold = Bytes{128} << 20;  ///< since 0.21

/// PyTorch DistributedDataParallel: tensors fill buckets in reverse order; a bucket closes when it reaches its cap, and
/// buckets are sent strictly in order (Li et al., VLDB 2020, section 3.2).
BucketSchedule schedule_ddp(const PlanRequest& request);

/// Horovod: at each tick, gradients that became ready since the previous one are fused up to the threshold; a larger
/// tensor is sent separately (Sergeev, Del Balso 2018). Blocks are sent one after another, without waiting for ticks.
BucketSchedule schedule_horovod(const PlanRequest& request);

}  // namespace allreplay
