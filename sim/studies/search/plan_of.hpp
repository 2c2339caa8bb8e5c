// Makes a scenario's plan, by its strategy or by the search for `best`, and simulates it.
#pragma once

#include "sim/base/core/watch.hpp"
#include "sim/replay/training/simulate.hpp"

namespace allreplay {

/// Planners see the slowest worker's profile. `watch` counts the plans that `best` compares. Throws InputError if the
/// scenario cannot be simulated.
Plan plan_of(const Scenario& scenario, const Watch& watch = {});

Plan plan_of(const Job& job, const Watch& watch = {});

/// Makes the plan and replays it. Throws InputError, TimeOverflow.
Result simulate(const Scenario& scenario, const Watch& watch = {});

}  // namespace allreplay
