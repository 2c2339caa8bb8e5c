// Computes the memory use of a pipeline rank's workers.
#pragma once

#include "sim/replay/training/job.hpp"

namespace allreplay {

/// Returns the memory use of one worker of the rank during the iteration.
MemoryUse memory_of_rank(const Job& job, const Plan& plan, const Unrolled& unrolled, const Timeline& iteration,
                         std::uint32_t rank);

}  // namespace allreplay
