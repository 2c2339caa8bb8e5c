// MergeComp (Wang, Wu, Ng) compresses and sends tensors in groups: fewer codec calls pay a start-up, while most
// communication still overlaps the backward pass.
#pragma once

#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

/// Groups gradients by StrategyOptions::grouping. Without a codec, they are sent uncompressed.
BucketSchedule schedule_mergecomp(const PlanRequest& request);

/// F of Eq. 7, the iteration time: the forward time t_f after the last group has arrived and the backward pass has
/// ended. Each group is encoded and decoded right after its last gradient, before the backward pass continues; groups
/// are sent one after another. `ends[i]` is one past the last gradient (in backward order) of group i.
Time mergecomp_objective(const PlanRequest& request, std::span<const std::size_t> ends);

}  // namespace allreplay
