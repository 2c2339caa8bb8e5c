// Simulates one scenario.
#pragma once

#include <functional>

#include "sim/studies/results/outcome.hpp"

namespace allreplay {

/// Simulates a scenario; with several seeds, numbers are means over them. With jitter, calls `after_iteration` after
/// each replayed iteration. Throws InputError.
Outcome run(Scenario scenario, std::function<void()> after_iteration = {});

/// The same for one of several scenarios. If a search finds nothing that fits into the memory, returns the best result
/// without a limit instead of throwing; like the result of any strategy, it is then marked as not fitting.
Outcome run_alongside(const Scenario& scenario, std::function<void()> after_iteration = {});

}  // namespace allreplay
