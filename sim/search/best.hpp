// The strategy `best`: a search over plans, against the alpha-beta replay.
//
// Where transfers go one after another and T(M) = a + b·M, the best of all plans that send all-reduces can be built.
// With everything in flight that may be, start-ups cost no bandwidth: each byte may pass from `a` after its gradient is
// ready, and what remains is one machine, release times, preemption, and for each layer a tail (the forward pass from
// there on). Sending the most urgent byte that may pass at each instant is optimal for that (Jackson's preemptive
// rule; Horn 1974), and a list of blocks can say it. Elsewhere (fair sharing, measured tables, split stages) that is a
// good start, and local moves improve it.
#pragma once

#include "sim/schedule/plan.hpp"
#include "sim/training/job.hpp"

namespace allreplay {

/// The best plan that the search finds before it meets the lower bound or its budget of replayed tasks ends. Never
/// slower than any other strategy at the same stage of ZeRO with the scenario's options and collective, in `message` on
/// up to 32 workers; the search is always in alpha-beta, with fair sharing where the fidelity is another. A barrier
/// that is given holds for all of its plans; other strategies' options say what they start from. With a limit of
/// memory, the fastest that fits. Deterministic. Throws NothingFits where none does, saying how much the smallest
/// needs.
Plan find_best(const Job& job);

/// The preemptive rule above, as a schedule: cuts where a more urgent gradient comes.
BucketSchedule schedule_most_urgent(const Profile& profile, const BlockCost& cost);

}  // namespace allreplay
