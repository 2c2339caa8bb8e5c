// Advice that holds: how results would compare if collectives between nodes reached only a part of the network's
// bandwidth, its least certain property.
#pragma once

#include <vector>

#include "sim/studies/experiment/progress.hpp"
#include "sim/studies/results/outcome.hpp"

namespace allreplay {

/// Simulates slower links between nodes: replays the plans of the winner, of all that tie with it, and of the runner-up
/// of another kind at the fraction `rule.doubt` of that bandwidth, and sets their Result::doubted_s, which rank() uses.
/// Results are of another kind if they shard among other numbers of workers or send other amounts of bytes. Does
/// nothing without rule.doubt, or if the workers fill one node. `same_samples`: iterations have equally many samples,
/// so their times are compared. `watch`: counts replays. REQUIRES: results of one race.
void add_doubts(const std::vector<Outcome*>& race, const WinningRule& rule, bool same_samples = false,
                const Watch& watch = {});

/// contender_of() for results whose iterations have equally many samples.
Contender contender_by_iteration(const Outcome& outcome, const WinningRule& rule);

}  // namespace allreplay
