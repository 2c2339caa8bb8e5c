// Tensors of experts and all others are planned separately: their gradients are reduced among different workers. Frozen
// tensors, which have none, are left out.
#pragma once

#include <vector>

#include "sim/plans/schedule/plan.hpp"

namespace allreplay {

/// A profile with only some of the tensors of another.
struct PartOfTensors {
  bool experts = false;       ///< the tensors of experts, not the others
  Profile profile;            ///< all layers; without `tied`
  std::vector<TensorId> ids;  ///< by tensor of `profile`: its number in the whole profile

  /// Renumbers the blocks' tensors as in the whole profile.
  std::vector<Block> blocks_of_whole(std::vector<Block> blocks) const;
};

/// Returns the parts that are planned separately: everything that is not frozen or, if experts have groups of their
/// own, the other tensors and then those of experts. A part may have no tensors.
std::vector<PartOfTensors> parts_of_tensors(const Profile& profile, const ShardingConfig& sharding);

/// True if the block carries tensors of experts. REQUIRES: the block holds tensors of one kind.
bool is_of_experts(const Block& block, const Profile& profile);

/// Cuts units where tensors of experts follow others, or the reverse. Layers without tensors stay with those before.
std::vector<Unit> cut_at_experts(const std::vector<Unit>& units, const Profile& profile);

}  // namespace allreplay
