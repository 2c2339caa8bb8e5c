// DeAR (Zhang et al., ICDCS 2023): an all-reduce is taken apart, so that its second half can wait for the forward pass.
#pragma once

#include "sim/schedule/strategy.hpp"

namespace allreplay {

inline constexpr Bytes dear_threshold = Bytes{25} << 20;

/// Whole layers fused in forward order while their sum stays below `threshold`; reduce-scatters as they become ready,
/// all-gathers after the backward pass and all reduce-scatters, the input layer's first.
BucketSchedule schedule_dear(const PlanRequest& request);

}  // namespace allreplay
