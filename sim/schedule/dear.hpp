// DeAR (Zhang et al., ICDCS 2023): an all-reduce is taken apart, so that its second half can wait for the forward pass.
#pragma once

#include "sim/schedule/strategy.hpp"

namespace allreplay {

/// Gradients fused in backward order up to `threshold`; reduce-scatters as they become ready, all-gathers after the
/// backward pass, the input layer's first.
Draft draft_dear(const PlanRequest& request);

}  // namespace allreplay
