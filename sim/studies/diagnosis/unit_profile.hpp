// A profile of a measured sharded job, with a layer for each unit.
#pragma once

#include <string>
#include <vector>

#include "sim/inputs/workload/profile.hpp"
#include "sim/studies/diagnosis/diagnosis.hpp"

namespace allreplay {

struct UnitProfile {
  Profile profile;
  std::vector<std::string> notes;
};

/// Times are means over the steps and micro-batches of one replica; parameters are those that were gathered. Throws
/// InputError at `place` if the size of a gather is not known. REQUIRES: the job is sharded.
UnitProfile profile_of_units(const Diagnosis& known, std::uint32_t replica, const SourceLocation& place);

}  // namespace allreplay
