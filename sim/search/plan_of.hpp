// A scenario's plan: what its strategy says, or what the search for `best` finds.
#pragma once

#include "sim/training/simulate.hpp"

namespace allreplay {

/// Planners see the profile as the slowest worker runs it. Throws InputError for what cannot be simulated.
Plan plan_of(const Scenario& scenario);

Plan plan_of(const Job& job);

/// The plan, replayed. Throws InputError, TimeOverflow.
Result simulate(const Scenario& scenario);

}  // namespace allreplay
