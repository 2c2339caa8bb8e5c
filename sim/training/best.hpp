// The strategy `best`: a search over plans.
#pragma once

#include "sim/schedule/plan.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

Plan find_best(const Scenario& scenario);

}  // namespace allreplay
