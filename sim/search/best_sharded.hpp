// The best schedule that a search finds for sharded parameters: which units are gathered together, how far ahead, which
// of them are kept, and whether gathers and reductions share a lane.
#pragma once

#include "sim/search/candidate.hpp"

namespace allreplay {

/// Of all ways of FSDP2 to merge the profile's units, over what is freed, how far ahead gathers and how far behind
/// reductions may be, which micro-batches reduce, and whether both share a lane or have one each, but for what the user
/// gives; fsdp1 and zero-3 as they come are compared, too. All of them where there are at most six units, else a search
/// from even merges by moves of their borders. With jitter and in detailed fidelities the search replays without, in
/// alpha-beta, and then the few best and the frameworks' own as they will be simulated (best_of()). With a limit of
/// memory, the fastest that fits; where none does, the smallest.
Candidate find_best_sharded(const Job& job);

}  // namespace allreplay
