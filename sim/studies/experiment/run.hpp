// Simulates one scenario.
#pragma once

#include <functional>

#include "sim/base/core/watch.hpp"
#include "sim/studies/results/outcome.hpp"

namespace allreplay {

/// Simulates a scenario; with several seeds, numbers are means over them. Calls `after_step` after each of steps_of()
/// steps; `watch` counts the plans that `best` compares. Throws InputError.
Outcome run(Scenario scenario, const std::function<void()>& after_step = {}, const Watch& watch = {});

/// The number of steps for progress: replays with different seeds, or with jitter their iterations.
std::size_t steps_of(const Scenario& scenario);

/// The same for one of several scenarios. If a search finds nothing that fits into the memory, returns the best result
/// without a limit instead of throwing; like the result of any strategy, it is then marked as not fitting.
Outcome run_alongside(const Scenario& scenario, const std::function<void()>& after_step = {});

}  // namespace allreplay
