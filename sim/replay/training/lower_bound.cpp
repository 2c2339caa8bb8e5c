#include "sim/replay/training/lower_bound.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "sim/replay/training/job.hpp"

namespace allreplay {

namespace {

// REQUIRES: there are gradients.
const Tensor& first_trained(const Profile& profile) {
  TensorId tensor = 0;
  while (profile.is_frozen(tensor)) ++tensor;
  return profile.tensors[tensor];
}

}  // namespace

LowerBound::LowerBound(const Profile& profile, const std::function<Time(Bytes)>& least)
    : first(first_trained(profile).layer), all(least(profile.bytes())) {
  Bytes bytes = 0;
  for (const Tensor& tensor : profile.tensors)
    if (tensor.layer == first) bytes += tensor.bytes;
  first_layer = least(bytes);
}

bool is_work(const Label& label) { return is_on_stream(label.kind) && !is_codec(label.kind); }

// These tasks run between the last B(l) and the next F(l).
bool LowerBound::hides(const Label& label, const ShardingConfig& sharding) const {
  if (label.item >= first) return false;
  return (label.kind == Activity::Backward && label.micro_batch + 1 == sharding.accumulate) ||
         (label.kind == Activity::Forward && label.micro_batch == 0);
}

Time LowerBound::computing(Time all_computing, Time before) const {
  return add(all_computing - before, std::max(before, first_layer));
}

Time LowerBound::of(const Profile& slowest, const ShardingConfig& sharding) const {
  Time before{0}, sum = add(slowest.update.value_or(Time(0)), slowest.host.step);
  for (LayerId layer = 0; layer < first; ++layer)
    before = add(before, add(slowest.layers[layer].forward, slowest.layers[layer].backward));
  for (std::int64_t micro_batch = 0; micro_batch < sharding.accumulate; ++micro_batch)
    sum = add(sum, add(slowest.forward(), slowest.backward()));
  return std::max(computing(sum, before), all);
}

namespace {

// Returns the shortest time to send these bytes in any blocks, with the plan's operations and blocks in flight.
Time least_time(const Fabric& fabric, const Plan& plan, Bytes bytes) {
  const bool several = plan.lanes.size() > 1 || plan.lanes.front().window.count > 1;
  const auto call = [&](CollectiveOp op) { return Call(op, plan.groups[group_all].group); };
  if (!uses_halves(plan)) return fabric.least(bytes, call(CollectiveOp::AllReduce), several);
  const Time halves = add(fabric.least(bytes, call(CollectiveOp::ReduceScatter), several),
                          fabric.least_behind(bytes, call(CollectiveOp::AllGather), several));
  const bool mixed = std::any_of(plan.transfers.begin(), plan.transfers.end(),
                                 [](const Transfer& transfer) { return transfer.op == CollectiveOp::AllReduce; });
  return mixed ? std::min(halves, fabric.least(bytes, call(CollectiveOp::AllReduce), several)) : halves;
}

// A bound for any start times: all bytes of a call pass the link that it uses most.
LowerBound busiest_link(const Plan& plan, const Fabric& fabric) {
  std::map<CallId, double> bytes;
  for (const Transfer& transfer : plan.transfers)
    if (transfer.travels()) bytes[fabric.id_of(call_of(plan, transfer))] += transfer.bytes;
  LowerBound bound;
  for (const auto& [id, sum] : bytes) bound.all = std::max(bound.all, fabric.least(sum, fabric.calls()[id], true));
  return bound;
}

}  // namespace

Time sending(const Plan& plan, const Fabric& fabric, std::optional<std::uint32_t> rank) {
  std::array<Time, channel_count> sums{};
  for (const Transfer& transfer : plan.transfers) {
    if (!transfer.travels() || (rank && plan.rank_of(transfer) != rank)) continue;
    const Call call = call_of(plan, transfer);
    const Channels channels = fabric.channels(call);
    const Time time = fabric.at_best(transfer.bytes, call);
    for (std::size_t channel = 0; channel < sums.size(); ++channel)
      if ((channels >> channel & 1U) != 0) sums[channel] = add(sums[channel], time);
  }
  return *std::max_element(sums.begin(), sums.end());
}

LowerBound bound_of(const Profile& profile, const Plan& plan, const Fabric& fabric, bool per_rank_start) {
  if (profile.tensors.empty() || plan.transfers.empty()) return {};
  if (per_rank_start) return busiest_link(plan, fabric);
  if (plan.sharding.has_expert_groups()) {  // two kinds of gradients, each in its own groups
    LowerBound bound;
    if (!plan.sharding.shards_optimizer() && plan.program().front().kind == Activity::Backward) {
      const bool experts = profile.layers[first_trained(profile).layer].expert;
      const Call call(CollectiveOp::AllReduce, plan.groups[experts ? group_expert : group_all].group);
      bound = LowerBound(profile, [&](Bytes bytes) { return fabric.least(static_cast<double>(bytes), call, true); });
    }
    bound.all = sending(plan, fabric, std::nullopt);
    return bound;
  }
  // Plans that expand() makes begin with a backward pass.
  if (!plan.sharding.shards_optimizer() && plan.program().front().kind == Activity::Backward)
    return LowerBound(profile, [&](Bytes bytes) {
      return bytes > 0 ? add(fabric.launch_of_tensor(), least_time(fabric, plan, bytes)) : Time(0);
    });
  LowerBound bound;
  bound.all = sending(plan, fabric, std::nullopt);
  return bound;
}

}  // namespace allreplay
