#include "sim/plans/schedule/gradients.hpp"

namespace allreplay {

std::vector<Gradient> gradients(const Profile& profile) {
  std::vector<Time> ready(profile.layers.size());
  Time clock{0};
  for (std::size_t layer = profile.layers.size(); layer-- > 0;)
    ready[layer] = clock = add(clock, profile.layers[layer].backward);
  std::vector<Gradient> list;
  list.reserve(profile.tensors.size());
  for (auto tensor = static_cast<TensorId>(profile.tensors.size()); tensor-- > 0;)
    if (!profile.is_frozen(tensor))
      list.push_back({tensor, profile.tensors[tensor].bytes, ready[profile.tensors[tensor].layer]});
  return list;
}

Bytes bytes_of_gradient(const Profile& profile) {
  if (profile.tensors.empty()) return 4;
  return profile.tensors.front().bytes / profile.tensors.front().elements;
}

namespace {

// Returns a block of these whole tensors.
Block block_of(std::span<const Gradient> gradients) {
  Block block;
  block.slices.reserve(gradients.size());
  for (const Gradient& gradient : gradients) block.slices.push_back({gradient.tensor, 0, gradient.bytes});
  return block;
}

}  // namespace

BucketSchedule merge(std::string_view strategy, std::span<const Gradient> gradients,
                     std::span<const std::size_t> ends) {
  BucketSchedule schedule;
  schedule.strategy = strategy;
  std::size_t start = 0;
  for (const std::size_t end : ends) {
    schedule.blocks.push_back(block_of(gradients.subspan(start, end - start)));
    schedule.blocks.back().priority = static_cast<std::int64_t>(schedule.blocks.size()) - 1;
    start = end;
  }
  return schedule;
}

}  // namespace allreplay
