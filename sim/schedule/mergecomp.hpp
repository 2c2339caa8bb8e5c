// MergeComp (Wang, Wu, Ng): tensors in groups that are compressed and sent together, so that fewer codec calls cost
// their start-up while most communication still hides behind the backward pass.
#pragma once

#include "sim/schedule/strategy.hpp"

namespace allreplay {

/// By StrategyOptions::grouping. Without compression, groups of gradients as they are.
BucketSchedule schedule_mergecomp(const PlanRequest& request);

/// F of Eq. 7, the iteration time: t_f after the last group has arrived and the backward pass has ended. Each group is
/// encoded and decoded at once, after its last gradient and before the backward pass goes on; groups travel one after
/// another. `ends[i]` is one past the last gradient (in backward order) of group i.
Time mergecomp_objective(const PlanRequest& request, std::span<const std::size_t> ends);

}  // namespace allreplay
