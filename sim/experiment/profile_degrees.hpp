// The degrees of parallelism inside layers at which a profile was taken, and those that a run asks for.
#pragma once

#include "sim/training/simulate.hpp"

namespace allreplay {

/// Sets the tensor and context degrees to the profile's, unless others were asked for. Throws InputError if the profile
/// is not one worker's of the groups that were asked for.
void take_degrees_of_profile(Scenario& scenario);

/// Throws InputError if the profile is not one worker's of the scenario's tensor, context and expert groups: the
/// simulation would give the whole model to every member.
void require_profile_of_degrees(const Scenario& scenario);

}  // namespace allreplay
