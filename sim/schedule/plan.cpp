#include "sim/schedule/plan.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace allreplay {

Bytes Block::bytes() const {
  Bytes sum = 0;
  for (const Slice& slice : slices) sum += slice.bytes;
  return sum;
}

LayerId first_layer(const Block& block, const Profile& profile) {
  LayerId first = std::numeric_limits<LayerId>::max();
  for (const Slice& slice : block.slices) first = std::min(first, profile.tensors[slice.tensor].layer);
  return first;
}

std::vector<Work> one_iteration(const Profile& profile) {
  const auto layers = static_cast<LayerId>(profile.layers.size());
  std::vector<Work> program;
  program.reserve(2 * profile.layers.size());
  for (LayerId layer = layers; layer-- > 0;) program.push_back({WorkKind::Backward, layer});
  for (LayerId layer = 0; layer < layers; ++layer) program.push_back({WorkKind::Forward, layer});
  return program;
}

Plan expand(Draft draft, const Profile& profile) {
  Plan plan;
  plan.strategy = std::move(draft.strategy);
  plan.program = one_iteration(profile);
  plan.blocks = std::move(draft.blocks);
  plan.lanes = {{"network", draft.order, draft.window, draft.tick}};
  plan.travel = static_cast<const Travel&>(draft);
  const std::size_t layers = profile.layers.size(), count = plan.blocks.size();
  const auto backward = [&](LayerId layer) { return work(layers - 1 - layer); };
  const auto forward = [&](LayerId layer) { return work(layers + layer); };
  plan.transfers.reserve(draft.split ? 2 * count : count);
  plan.gates.reserve(draft.split ? 4 * count : 2 * count);
  // However urgent an all-gather is, reduce-scatters go before it.
  constexpr std::int64_t first = std::numeric_limits<std::int64_t>::min();
  for (std::uint32_t index = 0; index < count; ++index) {
    const Block& block = plan.blocks[index];
    plan.transfers.push_back(
        {draft.split ? Stage::ReduceScatter : Stage::AllReduce, index, 0, draft.split ? first : block.priority});
    plan.gates.push_back(
        {backward(draft.release == Release::Backward ? 0 : first_layer(block, profile)), transfer(index)});
  }
  for (std::uint32_t index = 0; draft.split && index < count; ++index) {
    plan.gates.push_back({transfer(index), transfer(plan.transfers.size())});
    plan.gates.push_back({backward(0), transfer(plan.transfers.size())});
    plan.transfers.push_back({Stage::AllGather, index, 0, plan.blocks[index].priority});
  }
  for (std::uint32_t index = 0; index < count; ++index)
    plan.gates.push_back({transfer(draft.split ? count + index : index),
                          forward(draft.barrier == Barrier::Iteration ? 0 : first_layer(plan.blocks[index], profile))});
  return plan;
}

Draft draft_of(Plan plan) { return {*plan.travel, std::move(plan.strategy), std::move(plan.blocks)}; }

bool uses_halves(const Plan& plan) {
  return std::any_of(plan.transfers.begin(), plan.transfers.end(),
                     [](const Transfer& transfer) { return transfer.op != Stage::AllReduce; });
}

std::string names_of(const Block& block, const Profile& profile) {
  std::string names;
  constexpr std::size_t most = 3;
  for (std::size_t i = 0; i < std::min(most, block.slices.size()); ++i) {
    const Slice& slice = block.slices[i];
    const Tensor& tensor = profile.tensors[slice.tensor];
    names += (i > 0 ? ", " : "") + tensor.name;
    if (slice.bytes != tensor.bytes) names += fmt::format("[{}+{}]", slice.offset, slice.bytes);
  }
  if (block.slices.size() > most) names += fmt::format(", … {} more", block.slices.size() - most);
  return names;
}

std::string describe(const Plan& plan, std::size_t block, const Profile& profile) {
  return fmt::format("block {} ({})", block, names_of(plan.blocks[block], profile));
}

std::string to_string(WorkKind kind) { return kind == WorkKind::Backward ? "backward" : "forward"; }

std::string to_string(Order order) {
  switch (order) {
    case Order::FirstReady:
      return "first-ready";
    case Order::AsListed:
      return "as-listed";
    case Order::Priority:
      return "priority";
  }
  return "";
}

std::string to_string(Barrier barrier) { return barrier == Barrier::Iteration ? "iteration" : "layer"; }

}  // namespace allreplay
