// Writing profiles as profile files. Format: docs/formats.md.
#pragma once

#include <span>
#include <string>

#include "sim/workload/model.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

/// The profile with its model inline, a line per layer. read_profile() gives the same profile back; its name is that of
/// the file. `notes` go into "details". Needs a batch size, and names that are UTF-8. With `model`, whose layers and
/// tensors are the profile's, shapes and MACs are written, too.
std::string profile_json(const Profile& profile, std::span<const std::string> notes = {}, const Model* model = nullptr);

}  // namespace allreplay
