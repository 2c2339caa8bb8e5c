// Checks that a profile was taken with the degrees of parallelism inside layers that a run requests.
#pragma once

#include "sim/replay/training/simulate.hpp"

namespace allreplay {

/// Sets tensor and context degrees that were not requested to the profile's. Throws as require_profile_of_degrees().
void take_degrees_of_profile(Scenario& scenario);

/// Throws InputError if the profile is not of one worker of the scenario's tensor, context and expert groups.
void require_profile_of_degrees(const Scenario& scenario);

/// Without a pipeline, the plan's groups skip the workers of a tensor group. With one, each rank has its own groups.
/// Experts have groups of their own if the profile has any.
void set_groups(Scenario& scenario);

}  // namespace allreplay
