// Plans that nothing which is replayed can tell apart.
#pragma once

#include <cstdint>

#include "sim/schedule/plan.hpp"

namespace allreplay {

/// Opens the windows that never hold anything back, since all transfers of their lane fit in. REQUIRES: in flight they
/// are as large as their blocks.
void open_idle_windows(Plan& plan);

/// Whether both say the same of everything but their names, and the schedules they were made of.
bool replayed_alike(const Plan& a, const Plan& b);

/// Equal for those, and hardly ever for others.
std::uint64_t digest_of(const Plan& plan);

}  // namespace allreplay
