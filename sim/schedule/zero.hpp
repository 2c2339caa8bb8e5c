// DeepSpeed's ZeRO: zero-1 and zero-2 reduce buckets of gradients and gather all parameters after the update; zero-3
// gathers layer by layer, by the order of the layers in the iteration before. Precedence: docs/sharding.md.
#pragma once

#include "sim/schedule/strategy.hpp"

namespace allreplay {

Plan plan_zero1(const PlanRequest& request);
Plan plan_zero2(const PlanRequest& request);
Plan plan_zero3(const PlanRequest& request);

}  // namespace allreplay
