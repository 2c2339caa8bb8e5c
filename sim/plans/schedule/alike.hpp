// Finds plans with identical replays.
#pragma once

#include <cstdint>

#include "sim/plans/schedule/plan.hpp"

namespace allreplay {

/// Makes windows unlimited if all transfers of their lane fit in. REQUIRES: no codec changes the transfers' sizes.
void open_idle_windows(Plan& plan);

/// True if the plans differ at most in their names and in the schedules that they were made of.
bool replayed_alike(const Plan& a, const Plan& b);

/// A hash that is equal for such plans.
std::uint64_t digest_of(const Plan& plan);

}  // namespace allreplay
