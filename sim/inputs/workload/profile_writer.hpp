// Writing profiles as profile files. Format: docs/formats.md.
#pragma once

#include <span>
#include <string>

#include "sim/inputs/workload/model.hpp"
#include "sim/inputs/workload/profile.hpp"

namespace allreplay {

/// Writes the profile with its model inline, one line per layer. read_profile() returns the same profile, named after
/// its file. `notes` go into "details". If `model`, whose layers and tensors are the profile's, is given, shapes and
/// MACs are written too. REQUIRES: a batch size, and names in UTF-8.
std::string profile_json(const Profile& profile, std::span<const std::string> notes = {}, const Model* model = nullptr);

}  // namespace allreplay
