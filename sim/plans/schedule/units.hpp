// Units: consecutive layers that are gathered, reduced or placed together.
#pragma once

#include <vector>

#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

/// True if a part of a dotted name ends in a digit ("h.0", "block12"), as in lists of modules, which policies wrap.
bool is_numbered(std::string_view name);

bool has_groups(const Profile& profile);

/// Returns by layer whether it begins a group other than the first. Throws InputError if a group is not consecutive.
std::vector<bool> begins_of_groups(const Profile& profile);

/// Returns the units in forward order. Each has tensors, unless the profile has none. Throws InputError if groups are
/// requested but the profile has none, or if they are not consecutive.
std::vector<Unit> units_of(const Profile& profile, const Wrap& wrap);

/// Returns the units of a part of a model, such as a chunk of a pipeline. The whole model decides whether units are
/// groups; a part without group names is then one unit.
std::vector<Unit> units_of_part(const Profile& part, const Profile& model, const Wrap& wrap);

/// Returns by unit whether it is beyond the model's blocks (embedding, head): units are groups, and its name has no
/// number while others have one ("h.0").
std::vector<bool> beyond_blocks(const Profile& profile, const std::vector<Unit>& units, const Wrap& wrap);

/// Returns by unit whether FSDP1's root holds it, since the wrapping policy does not (docs/sharding.md, "The root").
std::vector<bool> root_layers(const Profile& profile, const std::vector<Unit>& units, const Wrap& wrap);

}  // namespace allreplay
