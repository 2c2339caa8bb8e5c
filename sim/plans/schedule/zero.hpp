// DeepSpeed's ZeRO. zero-1 and zero-2 reduce gradients in buckets and gather all parameters after the update; zero-3
// gathers parameters layer by layer, in the order of the previous iteration. Precedences: docs/sharding.md.
#pragma once

#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

Plan plan_zero1(const PlanRequest& request);
Plan plan_zero2(const PlanRequest& request);
Plan plan_zero3(const PlanRequest& request);

}  // namespace allreplay
