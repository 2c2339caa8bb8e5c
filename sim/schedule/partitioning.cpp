#include "sim/schedule/partitioning.hpp"

#include <algorithm>

namespace allreplay {

std::vector<Slice> cut(TensorId tensor, Bytes bytes, Bytes partition) {
  std::vector<Slice> slices;
  for (Bytes offset = 0; offset < bytes; offset += partition)
    slices.push_back({tensor, offset, std::min(partition, bytes - offset)});
  return slices;
}

namespace {

// Listed by tensor, then offset: that decides between slices of one layer.
Plan by_layer(std::string_view strategy, const Profile& profile, Bytes partition, const Window& window) {
  Plan plan;
  plan.strategy = strategy;
  for (TensorId tensor = 0; tensor < profile.tensors.size(); ++tensor)
    for (const Slice& slice : cut(tensor, profile.tensors[tensor].bytes, partition))
      plan.blocks.push_back({{slice}, profile.tensors[tensor].layer});
  plan.order = Order::Priority;
  plan.window = window;
  plan.barrier = Barrier::Layer;
  return plan;
}

}  // namespace

Plan plan_bytescheduler(const PlanRequest& request) {
  return by_layer("bytescheduler", request.profile, request.options.partition.value_or(bytescheduler_partition),
                  request.options.credit);
}

Plan plan_p3(const PlanRequest& request) {
  return by_layer("p3", request.profile, request.options.partition.value_or(p3_partition), Window{});
}

}  // namespace allreplay
