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

/// Where a program updates parameters: at once before its first forward pass, if that takes no time.
struct UpdatePlace {
  std::size_t work = 0;  ///< in the program
  bool takes_time = true;
  double elements = 0;  ///< of all workers that share the optimizer's state
};
std::vector<UpdatePlace> update_places(const Plan& plan, std::uint32_t role, const Profile& profile);

/// What the optimizer's step takes in addition to its state while a worker updates so many elements.
double step_memory(const Scenario& scenario, const Plan& plan, double elements);

/// From the last replayed iteration.
MemoryUse memory_of(const Scenario& scenario, const Plan& plan, const Unrolled& unrolled, const Episode& episode);

}  // namespace allreplay
