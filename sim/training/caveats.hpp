// What of a job should be taken with care: said beside its results.
#pragma once

#include <optional>
#include <string>

#include "sim/training/collective_choice.hpp"

namespace allreplay {

/// Costs that no such network can have, a collective that the topology makes another of, codecs that save nothing or
/// were timed elsewhere: a line each, "" if there is nothing to say. What is no more than a note begins with "note: ".
std::string caveats_of(const Scenario& scenario, const CollectiveChoice& choice,
                       const std::optional<Compression>& compression);

}  // namespace allreplay
