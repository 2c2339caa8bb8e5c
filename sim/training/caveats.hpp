// What of a job should be taken with care: said beside its results.
#pragma once

#include <optional>
#include <string>

#include "sim/training/collective_choice.hpp"

namespace allreplay {

/// Costs that no such network can have, a collective that the topology makes another of, codecs that save nothing or
/// were timed elsewhere: in one text, "" if there is nothing to say.
std::string caveats_of(const Scenario& scenario, const CollectiveChoice& choice,
                       const std::optional<Compression>& compression);

}  // namespace allreplay
