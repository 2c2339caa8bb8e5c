// Makes a scenario's plan, by its strategy or by the search for `best`, and simulates it.
#pragma once

#include "sim/replay/training/simulate.hpp"

namespace allreplay {

/// Planners see the slowest worker's profile. Throws InputError if the scenario cannot be simulated.
Plan plan_of(const Scenario& scenario);

Plan plan_of(const Job& job);

/// Makes the plan and replays it. Throws InputError, TimeOverflow.
Result simulate(const Scenario& scenario);

}  // namespace allreplay
