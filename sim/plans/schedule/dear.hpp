// DeAR (Zhang et al., ICDCS 2023) splits all-reduces, so that the second half overlaps the next forward pass.
#pragma once

#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

inline constexpr Bytes dear_threshold = Bytes{25} << 20;

/// Fuses whole layers in forward order while their sum stays below `threshold`. Reduce-scatters start as gradients
/// become ready; all-gathers start after the backward pass and all reduce-scatters, the input layer's first.
BucketSchedule schedule_dear(const PlanRequest& request);

}  // namespace allreplay
