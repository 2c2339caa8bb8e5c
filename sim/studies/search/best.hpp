// The strategy `best`: a search over plans that replays them in alpha-beta.
//
// If transfers run one after another and T(M) = a + b·M, the optimal plan of all-reduces can be constructed. With an
// unlimited window, start-ups cost no bandwidth: each byte may be sent from `a` after its gradient is ready. This is
// scheduling on one machine with release times, preemption, and a tail for each layer (the forward pass from there on).
// Sending the most urgent available byte at each instant is optimal (Jackson's preemptive rule; Horn 1974), and a list
// of blocks can express it. In other cases (fair sharing, measured tables, split stages) local moves improve that plan.
#pragma once

#include "sim/plans/schedule/plan.hpp"
#include "sim/replay/training/job.hpp"

namespace allreplay {

/// Returns the best plan that the search finds before it reaches the lower bound or the end of its budget of replayed
/// tasks. It is never slower than another strategy at the same ZeRO stage with the scenario's options and collective
/// (in `message`, on up to 32 workers). The search itself replays in alpha-beta, with fair sharing if the fidelity is
/// another. A given barrier holds for all plans; other strategies' options affect the plans that it starts from. With a
/// memory limit, returns the fastest plan that fits; throws NothingFits if none does. Deterministic.
Plan find_best(const Job& job);

/// Returns the schedule of the preemptive rule above: blocks are cut when a more urgent gradient is ready.
BucketSchedule schedule_most_urgent(const Profile& profile, const BlockCost& cost);

}  // namespace allreplay
