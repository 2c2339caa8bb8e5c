#include "sim/plans/schedule/experts.hpp"

#include <optional>

namespace allreplay {

std::vector<Block> PartOfTensors::blocks_of_whole(std::vector<Block> blocks) const {
  for (Block& block : blocks)
    for (Slice& slice : block.slices) slice.tensor = ids[slice.tensor];
  return blocks;
}

std::vector<PartOfTensors> parts_of_tensors(const Profile& profile, const ShardingConfig& sharding) {
  std::vector<PartOfTensors> parts;
  for (const bool experts : {false, true}) {
    if (experts && !sharding.has_expert_groups()) break;
    PartOfTensors& part = parts.emplace_back(PartOfTensors{experts, profile, {}});
    part.profile.tensors.clear();
    part.profile.tied.reset();
    for (TensorId tensor = 0; tensor < profile.tensors.size(); ++tensor) {
      if (profile.is_frozen(tensor) || (sharding.has_expert_groups() && profile.is_expert(tensor) != experts)) continue;
      part.profile.tensors.push_back(profile.tensors[tensor]);
      part.ids.push_back(tensor);
    }
  }
  return parts;
}

bool is_of_experts(const Block& block, const Profile& profile) {
  return !block.slices.empty() && profile.is_expert(block.slices.front().tensor);
}

std::vector<Unit> cut_at_experts(const std::vector<Unit>& units, const Profile& profile) {
  std::vector<bool> has_tensors(profile.layers.size(), false);
  for (const Tensor& tensor : profile.tensors) has_tensors[tensor.layer] = true;
  std::vector<Unit> cut;
  for (const Unit& unit : units) {
    cut.push_back(unit);
    std::optional<bool> experts;  // of the last unit's tensors
    for (LayerId layer = unit.first; layer <= unit.last; ++layer) {
      if (!has_tensors[layer]) continue;
      const bool own = profile.layers[layer].expert;
      if (experts.value_or(own) != own) {
        cut.back().last = layer - 1;
        cut.push_back({layer, unit.last});
      }
      experts = own;
    }
  }
  return cut;
}

}  // namespace allreplay
