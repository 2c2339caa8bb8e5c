#include "sim/training/unroll.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace allreplay {

namespace {

// Lead-in, backward and forward of one class: a chain.
void add_compute(Unrolled& unrolled, const Profile& profile, std::size_t index) {
  std::int64_t rank = 0;
  const auto append = [&](Time duration) {
    const TaskId id = unrolled.graph.add({.resource = unrolled.stream(index), .rank = rank, .duration = duration});
    if (rank++ > 0) unrolled.graph.precede(id - 1, id);
  };
  append(Time(0));
  for (std::size_t layer = profile.layers.size(); layer-- > 0;) append(profile.layers[layer].backward);
  for (const Layer& layer : profile.layers) append(layer.forward);
}

std::set<LayerId> layers_of(const Block& block, const Profile& profile) {
  std::set<LayerId> layers;
  for (const Slice& slice : block.slices) layers.insert(profile.tensors[slice.tensor].layer);
  return layers;
}

void add_block(Unrolled& unrolled, const Profile& profile, const Plan& plan, std::size_t index) {
  const Block& block = plan.blocks[index];
  const TaskId id = unrolled.graph.add({.resource = unrolled.network(),
                                        .rank = static_cast<std::int64_t>(index),
                                        .priority = block.priority,
                                        .bytes = block.bytes()});
  const std::set<LayerId> layers = layers_of(block, profile);
  // Backward runs from the last layer to the first, so the block is ready when its first layer is.
  const LayerId ready = plan.release == Release::Backward ? 0 : *layers.begin();
  for (std::size_t worker_class = 0; worker_class < unrolled.classes; ++worker_class) {
    unrolled.graph.precede(unrolled.backward(worker_class, ready), id);
    // Forward is a chain: what the first of the block's layers waits for, the others wait for, too.
    const LayerId gated = plan.barrier == Barrier::Iteration ? 0 : *layers.begin();
    unrolled.graph.precede(id, unrolled.forward(worker_class, gated));
  }
}

}  // namespace

Unrolled unroll(const Profile& profile, const Plan& plan, const std::vector<WorkerClass>& classes) {
  Unrolled unrolled;
  unrolled.classes = classes.size();
  unrolled.layers = profile.layers.size();
  unrolled.blocks = plan.blocks.size();
  for (std::size_t index = 0; index < classes.size(); ++index)
    add_compute(unrolled, classes[index].slowdown == 1 ? profile : slowed(profile, classes[index].slowdown), index);
  for (std::size_t index = 0; index < plan.blocks.size(); ++index) add_block(unrolled, profile, plan, index);
  unrolled.graph.link();
  return unrolled;
}

std::string describe(const Block& block, const Profile& profile, std::size_t index) {
  std::string names;
  constexpr std::size_t most = 3;
  for (std::size_t i = 0; i < std::min(most, block.slices.size()); ++i) {
    const Slice& slice = block.slices[i];
    const Tensor& tensor = profile.tensors[slice.tensor];
    names += (i > 0 ? ", " : "") + tensor.name;
    if (slice.bytes != tensor.bytes) names += fmt::format("[{}+{}]", slice.offset, slice.bytes);
  }
  if (block.slices.size() > most) names += fmt::format(", … {} more", block.slices.size() - most);
  return fmt::format("block {} ({})", index, names);
}

}  // namespace allreplay
