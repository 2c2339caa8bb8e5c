// The search of `best` for sharded parameters: which units are gathered together, how far ahead, which of them stay
// gathered, and whether gathers and reductions share a lane.
#pragma once

#include "sim/studies/search/candidate.hpp"

namespace allreplay {

/// Varies FSDP2: the merging of the profile's units, what is freed, how far ahead gathers and how far behind reductions
/// may be, which micro-batches reduce, and whether both share a lane; except for options that the user gives. Also
/// compares other strategies of stage 3, unmodified. Tries all combinations for up to six units; else searches from
/// even merges by moves of borders. With jitter or a detailed fidelity, the search replays in alpha-beta without
/// jitter, and then compares its best plans and the frameworks' in the real simulation (best_of()). With a memory
/// limit, returns the fastest plan that fits; the smallest if none does.
Candidate find_best_sharded(const Job& job);

}  // namespace allreplay
