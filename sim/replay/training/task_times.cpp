#include "sim/replay/training/task_times.hpp"

#include <algorithm>

namespace allreplay {

TaskTimes::TaskTime TaskTimes::time_of(const Label& label) {
  const Time exchanged = label.in_pair && exchanges_ ? exchanges_->of(label.kind, label.item).total : Time(0);
  const Time time = nominal_time(label, profile_of(label)) - exchanged;
  const double slowdown = classes_[label.worker_class].slowdown;
  return {time, slowdown == 1 ? time : slowed_time(label, time, slowdown, exchanged)};
}

// A slow GPU waits less for its host, which is as fast as others. `exchanged`: not part of `time`.
Time TaskTimes::slowed_time(const Label& label, Time time, double slowdown, Time exchanged) {
  const Profile& own = profile_of(label);
  if (label.kind == Activity::HostStep) return time;
  if (!own.host.of_blocks() || !is_pass(label.kind)) return scaled(time, slowdown);
  Profile& slow = slowed_[{&own, slowdown}];
  if (slow.layers.empty()) slow = slowed(own, slowdown);
  return nominal_time(label, slow) - scaled(exchanged, slowdown);
}

const Profile& TaskTimes::profile_of(const Label& label) const {
  const WorkerClass& whose = classes_[label.worker_class];
  return whose.profile ? *whose.profile : profile_;
}

Time TaskTimes::weight_time(LayerId layer, const Profile& profile) {
  std::vector<Time>& weights = weights_[&profile];
  if (weights.empty()) weights = profile.weight_times();
  return weights[layer];
}

Time TaskTimes::nominal_time(const Label& label, const Profile& profile) {
  const auto block = [&] { return plan_.blocks[label.item].bytes(); };
  switch (label.kind) {
    case Activity::Backward:
      return profile.layers[label.item].backward;
    case Activity::Forward:
      return profile.layers[label.item].forward;
    case Activity::Update:
      return update_time(label, profile);
    case Activity::HostStep:
      return profile.host.step;
    case Activity::CopyOut:
      return copy_time(static_cast<double>(block()) * profile.parameter_share());
    case Activity::CopyIn:
      return copy_time(static_cast<double>(block()));
    case Activity::Dequantise:
      return quantise_time(static_cast<double>(block()) * profile.parameter_share());
    case Activity::NewtonSchulz:
      return muon_time(plan_.blocks[label.item], profile);
    case Activity::OuterUpdate:
      return outer_time(plan_.blocks[label.item], profile);
    case Activity::Encode:
      return compression_->decode_at() == DecodeAt::Arrival
                 ? compression_->encode(block())
                 : add(compression_->encode(block()), compression_->decode(block()));
    case Activity::Decode:
      return compression_->decode(block());
    case Activity::BackwardInput:
      return profile.layers[label.item].backward - weight_time(label.item, profile);
    case Activity::BackwardWeight:
      return weight_time(label.item, profile);
    default:
      return Time(0);
  }
}

// A layer's share of the update is proportional to its bytes, a rank's to its elements.
Time TaskTimes::update_time(const Label& label, const Profile& profile) const {
  if (!profile.update || profile.tensors.empty()) return Time(0);
  const std::uint32_t item = label.item;
  if (item == everything) {
    const double share = share_of_role(classes_[label.worker_class].role);
    const std::int64_t all = profile.elements(), others = all - plan_.memory_policy.single_moment;
    return scaled(*profile.update,
                  others == all ? share : share * static_cast<double>(others) / static_cast<double>(all));
  }
  Bytes bytes = 0;
  for (const Tensor& tensor : profile.tensors)
    if (tensor.layer == item) bytes += tensor.bytes;
  return scaled(*profile.update, static_cast<double>(bytes) / static_cast<double>(profile.bytes()));
}

// Returns the part of the whole update that a worker of the role does. Experts are shared by 1/E of the workers that
// share the other elements.
double TaskTimes::share_of_role(std::uint32_t role) const {
  const auto shards = static_cast<double>(shards_);
  const bool apart = plan_.sharding.has_expert_groups() && shards_ > 1;
  if (!plan_.pipeline && !apart) return 1 / shards;
  std::vector<bool> own(profile_.layers.size(), !plan_.pipeline);
  for (const Work& work : plan_.roles[role].program)
    if (work.kind == Activity::Forward) own[work.item] = true;
  std::int64_t elements = 0, of_experts = 0;
  for (const Tensor& tensor : profile_.tensors)
    if (own[tensor.layer]) (apart && profile_.layers[tensor.layer].expert ? of_experts : elements) += tensor.elements;
  const auto all = static_cast<double>(profile_.elements());
  const double share = static_cast<double>(elements) / all / shards;
  if (!apart) return share;
  return share + static_cast<double>(of_experts) / all * static_cast<double>(plan_.sharding.experts) / shards;
}

Time TaskTimes::copy_time(double bytes) const { return plan_.copy_rate ? to_time(bytes / *plan_.copy_rate) : Time(0); }

Time TaskTimes::quantise_time(double bytes) const {
  return plan_.quantise_rate ? to_time(bytes / *plan_.quantise_rate) : Time(0);
}
// The slowest rank's matrix of a round, or a single one.
Time TaskTimes::muon_time(const Block& block, const Profile& profile) const {
  Time most{0};
  for (const Slice& slice : block.slices) {
    const auto own = profile.tensors[slice.tensor].muon;
    most = std::max(most, own ? *own : profile_.tensors[slice.tensor].muon.value_or(Time(0)));
  }
  return most;
}
Time TaskTimes::outer_time(const Block& block, const Profile& profile) const {
  return scaled(plan_.outer_update,
                static_cast<double>(elements_of(block, profile)) / static_cast<double>(profile.elements()));
}

Time TaskTimes::lane_time(const Transfer& one) const {
  const Time time = one.computes == Activity::NewtonSchulz ? muon_time(plan_.block_of(one), profile_)
                                                           : quantise_time(static_cast<double>(one.bytes));
  double slowdown = 1;
  for (const WorkerClass& each : classes_) slowdown = std::max(slowdown, each.slowdown);
  return slowdown == 1 ? time : scaled(time, slowdown);
}

}  // namespace allreplay
