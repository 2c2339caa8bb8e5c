// What a worker's memory holds, worked out from a timeline (docs/sharding.md, "Memory").
#pragma once

#include <string>
#include <string_view>

#include "sim/core/error.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

/// How much memory a worker has: as the user wrote it, or the device's, rounded. REQUIRES: there is a limit.
std::string limit_text(const Scenario& scenario);

/// Whether that fits into the memory that the scenario says a worker has.
bool fits(const Scenario& scenario, double bytes);
bool fits(const Scenario& scenario, const Result& result);

struct NothingFits : InputError {
  using InputError::InputError;
};

/// Throws NothingFits: nothing that was tried fits, and the least, of `bytes`, is that of `smallest`.
[[noreturn]] void nothing_fits(const Scenario& scenario, double bytes, std::string_view smallest);

/// What a worker holds all the time of so many elements: `resident` whole, the others as the plan shares them out among
/// `shards`. REQUIRES: the profile has tensors.
MemoryParts standing_memory(const Scenario& scenario, const Plan& plan, double elements, double resident,
                            double shards);

/// From the last replayed iteration.
MemoryUse memory_of(const Scenario& scenario, const Plan& plan, const Unrolled& unrolled, const Episode& episode);

}  // namespace allreplay
