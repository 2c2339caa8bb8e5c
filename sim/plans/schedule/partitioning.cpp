#include <algorithm>

#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/planners.hpp"

namespace allreplay {

std::vector<Slice> cut(TensorId tensor, Bytes bytes, Bytes partition) {
  std::vector<Slice> slices;
  for (Bytes offset = 0; offset < bytes; offset += partition)
    slices.push_back({tensor, offset, std::min(partition, bytes - offset)});
  return slices;
}

namespace {

// Lists slices by tensor, then by offset. This order decides between slices of one layer.
BucketSchedule by_layer(std::string_view strategy, const Profile& profile, Bytes partition, const Window& window) {
  BucketSchedule schedule;
  schedule.strategy = strategy;
  for (TensorId tensor = 0; tensor < profile.tensors.size(); ++tensor)
    for (const Slice& slice : cut(tensor, profile.tensors[tensor].bytes, partition))
      schedule.blocks.push_back({{slice}, profile.tensors[tensor].layer});
  schedule.order = Order::Priority;
  schedule.window = window;
  schedule.barrier = Barrier::Layer;
  return schedule;
}

}  // namespace

BucketSchedule schedule_bytescheduler(const PlanRequest& request) {
  return by_layer("bytescheduler", request.profile, slice_size(request, bytescheduler_partition),
                  request.options.credit);
}

BucketSchedule schedule_p3(const PlanRequest& request) {
  return by_layer("p3", request.profile, slice_size(request, p3_partition), Window{});
}

BucketSchedule schedule_byteps(const PlanRequest& request) {
  const Bytes partition = slice_size(request, byteps_partition);
  BucketSchedule schedule;
  schedule.strategy = "byteps";
  for (const Gradient& gradient : gradients(request.profile))
    for (const Slice& slice : cut(gradient.tensor, gradient.bytes, partition)) schedule.blocks.push_back({{slice}});
  schedule.window = request.options.credit;
  schedule.release = request.options.release;
  return schedule;
}

}  // namespace allreplay
