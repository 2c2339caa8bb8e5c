#include "sim/plans/schedule/plan_builder.hpp"

#include <algorithm>

namespace allreplay {

Block block_of_layers(const Unit& layers, const Profile& profile) {
  const auto& tensors = profile.tensors;
  const auto first = std::lower_bound(tensors.begin(), tensors.end(), layers.first,
                                      [](const Tensor& one, LayerId layer) { return one.layer < layer; });
  Block block;
  for (auto one = first; one != tensors.end() && one->layer <= layers.last; ++one)
    block.slices.push_back({static_cast<TensorId>(one - tensors.begin()), 0, one->bytes});
  return block;
}

Block without_frozen(Block block, const Profile& profile) {
  std::erase_if(block.slices, [&](const Slice& slice) { return profile.is_frozen(slice.tensor); });
  return block;
}

std::vector<Block> cut_into_pieces(const Block& block, std::int64_t most, const Profile& profile) {
  std::vector<Block> pieces;
  std::int64_t left = 0;  // elements that still fit into the last piece
  for (const Slice& slice : block.slices) {
    const Bytes each = profile.tensors[slice.tensor].bytes / profile.tensors[slice.tensor].elements;
    for (std::int64_t sent = 0; sent < slice.bytes / each;) {
      if (left == 0) {
        pieces.emplace_back();
        left = most;
      }
      const std::int64_t count = std::min(left, slice.bytes / each - sent);
      pieces.back().slices.push_back({slice.tensor, slice.offset + sent * each, count * each});
      sent += count;
      left -= count;
    }
  }
  return pieces;
}

std::optional<std::uint32_t> gradients_of(std::uint32_t block, Plan& plan, const Profile& profile) {
  Block trained = without_frozen(plan.blocks[block], profile);
  if (trained.slices.size() == plan.blocks[block].slices.size()) return block;
  if (trained.slices.empty()) return std::nullopt;
  plan.blocks.push_back(std::move(trained));
  return static_cast<std::uint32_t>(plan.blocks.size() - 1);
}

}  // namespace allreplay
