// Checks that a profile was taken with the degrees of parallelism inside layers that a run requests.
#pragma once

#include "sim/training/simulate.hpp"

namespace allreplay {

/// Sets the tensor and context degrees to those of the profile, unless others were requested. Throws as
/// require_profile_of_degrees().
void take_degrees_of_profile(Scenario& scenario);

/// Throws InputError if the profile was not taken on one worker of the scenario's tensor, context and expert groups:
/// every member of a group would then simulate the whole model.
void require_profile_of_degrees(const Scenario& scenario);

}  // namespace allreplay
