// Finds the model of a profile.
#pragma once

#include "sim/inputs/workload/model.hpp"

namespace allreplay {

/// Reads the profile's key "model": an inline model, or a path, or a name found in models/. Throws InputError.
Model model_of_profile(const Files& files, const Json& profile);

}  // namespace allreplay
