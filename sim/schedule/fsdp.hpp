// PyTorch's FullyShardedDataParallel (fsdp1) and fully_shard (fsdp2): parameters are gathered unit by unit.
// The precedence of every task: docs/sharding.md.
#pragma once

#include <vector>

#include "sim/schedule/strategy.hpp"

namespace allreplay {

bool has_groups(const Profile& profile);

/// Whether each layer begins a group of another name than those before it. Throws InputError for groups that are not
/// consecutive.
std::vector<bool> begins_of_groups(const Profile& profile);

/// In forward order; every unit has tensors, unless the profile has none. Throws InputError for groups that are asked
/// for and not there, or that are not consecutive.
std::vector<Unit> units_of(const Profile& profile, const Wrap& wrap);

/// Those of a part of a model, such as a chunk of a pipeline. The model decides whether units are groups: a part of it
/// whose layers have no names is one unit.
std::vector<Unit> units_of_part(const Profile& part, const Profile& model, const Wrap& wrap);

/// By unit: true if FSDP1's root holds it, as no block of the wrapping policy does (docs/sharding.md, "The root").
std::vector<bool> held_by_root(const Profile& profile, const std::vector<Unit>& units, const Wrap& wrap);

Plan plan_fsdp2(const PlanRequest& request);
Plan plan_fsdp1(const PlanRequest& request);
/// Composer's way with it: a unit is gathered once the one before it has computed (BACKWARD_POST).
Plan plan_composer(const PlanRequest& request);

}  // namespace allreplay
