// The best schedule that a search finds for sharded parameters: which units are gathered together, how far ahead, which
// of them are kept, and whether gathers and reductions share a lane.
#pragma once

#include "sim/training/communication.hpp"

namespace allreplay {

/// Of all ways of FSDP2 to merge the trace's units, over its options; fsdp1 and zero-3 as they come are compared, too.
/// All of them where there are at most six units, else a search from even merges by moves of their borders. With a
/// limit of memory, the fastest that fits. Throws InputError where none fits, saying how much the smallest needs.
Plan find_best_sharded(const Scenario& scenario, const Communication& communication);

}  // namespace allreplay
