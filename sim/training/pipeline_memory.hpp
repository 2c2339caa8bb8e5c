// What a worker of a rank of a pipeline holds.
#pragma once

#include "sim/training/job.hpp"

namespace allreplay {

/// Over an iteration, of which the timeline has the spans.
MemoryUse memory_of_rank(const Job& job, const Plan& plan, const Unrolled& unrolled, const Timeline& iteration,
                         std::uint32_t rank);

}  // namespace allreplay
