#include "sim/training/unroll.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/collective/stage.hpp"

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

void add_collective(Unrolled& unrolled, const Block& block, Stage stage, std::int64_t rank, std::int64_t priority) {
  unrolled.graph.add({.resource = unrolled.network(),
                      .rank = rank,
                      .priority = priority,
                      .bytes = block.bytes(),
                      .service = static_cast<std::uint32_t>(stage)});
}

void add_collectives(Unrolled& unrolled, const Plan& plan) {
  const auto count = static_cast<std::int64_t>(plan.blocks.size());
  const bool split = plan.stages == Stages::Split;
  // However urgent an all-gather is, reduce-scatters go first: all of the next forward waits for them.
  constexpr std::int64_t first = std::numeric_limits<std::int64_t>::min();
  for (std::int64_t rank = 0; rank < count; ++rank) {
    const Block& block = plan.blocks[static_cast<std::size_t>(rank)];
    add_collective(unrolled, block, split ? Stage::ReduceScatter : Stage::AllReduce, rank,
                   split ? first : block.priority);
  }
  if (!split) return;
  for (std::int64_t rank = 0; rank < count; ++rank) {
    const Block& block = plan.blocks[static_cast<std::size_t>(rank)];
    add_collective(unrolled, block, Stage::AllGather, count + rank, block.priority);
  }
}

void add_dependencies(Unrolled& unrolled, const Profile& profile, const Plan& plan, std::size_t index) {
  // Forward is a chain: what the first of the block's layers waits for, the others wait for, too.
  const LayerId first = first_layer(plan.blocks[index], profile);
  const LayerId ready = ready_layer(plan, plan.blocks[index], profile);
  const TaskId start = unrolled.block(index), end = unrolled.block(index, unrolled.stages - 1);
  if (start != end) unrolled.graph.precede(start, end);
  for (std::size_t worker_class = 0; worker_class < unrolled.classes; ++worker_class) {
    unrolled.graph.precede(unrolled.backward(worker_class, ready), start);
    if (start != end) unrolled.graph.precede(unrolled.backward(worker_class, 0), end);
    unrolled.graph.precede(end, unrolled.forward(worker_class, plan.barrier == Barrier::Iteration ? 0 : first));
  }
}

}  // namespace

Unrolled unroll(const Profile& profile, const Plan& plan, const std::vector<WorkerClass>& classes) {
  Unrolled unrolled;
  unrolled.classes = classes.size();
  unrolled.layers = profile.layers.size();
  unrolled.blocks = plan.blocks.size();
  unrolled.stages = plan.stages == Stages::Split ? 2 : 1;
  for (std::size_t index = 0; index < classes.size(); ++index)
    add_compute(unrolled, classes[index].slowdown == 1 ? profile : slowed(profile, classes[index].slowdown), index);
  add_collectives(unrolled, plan);
  for (std::size_t index = 0; index < plan.blocks.size(); ++index) add_dependencies(unrolled, profile, plan, index);
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
