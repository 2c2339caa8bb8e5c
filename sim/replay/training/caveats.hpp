// Warnings that are shown with a job's results.
#pragma once

#include <optional>
#include <string>

#include "sim/replay/training/collective_choice.hpp"

namespace allreplay {

/// Returns warnings, one per line: implausible costs, a collective that the topology changes, codecs that save nothing
/// or were timed on another device. Mere notes begin with "note: ".
std::string caveats_of(const Scenario& scenario, const CollectiveChoice& choice,
                       const std::optional<Compression>& compression);

}  // namespace allreplay
