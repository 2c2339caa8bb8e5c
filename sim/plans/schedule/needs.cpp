#include "sim/plans/schedule/needs.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/plans/schedule/local_sgd.hpp"

namespace allreplay {

std::vector<Need> needs_of(const ShardingConfig& sharding) {
  if (sharding.averages()) return needs_of_round(sharding);
  using enum Payload::Kind;
  const auto last = static_cast<std::uint32_t>(sharding.accumulate - 1);
  if (!sharding.shards_optimizer())
    return {{CollectiveOp::AllReduce, group_all, Gradients, last, Activity::Backward, Activity::Update}};
  std::vector<Need> needs{
      {CollectiveOp::ReduceScatter, group_shard, Gradients, last, Activity::Backward, Activity::Update}};
  const bool groups = sharding.shard_group > 0, outer = groups && sharding.outer_optimizer;
  if (groups)
    needs.push_back({outer ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce, group_replica, Gradients, last,
                     Activity::Backward, Activity::Update});
  if (outer)
    needs.push_back({CollectiveOp::AllGather, group_replica, Parameters, 0, Activity::Update, Activity::Forward});
  needs.push_back({CollectiveOp::AllGather, group_shard, Parameters, 0, Activity::Update, Activity::Forward});
  return needs;
}

namespace {

// Checks that each layer with tensors has an update before its first forward pass.
std::optional<Complaint> not_updated(const std::map<LayerId, std::size_t>& passes_before, std::size_t first_forward,
                                     const Profile& profile) {
  for (const Tensor& tensor : profile.tensors) {
    if (profile.layers[tensor.layer].frozen) continue;
    const std::string& layer = profile.layers[tensor.layer].name;
    const auto update = passes_before.find(tensor.layer);
    if (update == passes_before.end())
      return Complaint{fmt::format("the program updates layers, but not '{}'", layer),
                       "{\"update\": \"everything\"}, or the update of each layer that has gradients"};
    if (update->second > first_forward + tensor.layer)
      return Complaint{fmt::format("the program updates '{}' after its forward pass", layer), "before it"};
  }
  return std::nullopt;
}

std::optional<Complaint> find_iteration_error(const Role& role, const Plan& plan, const Profile& profile) {
  const auto layers = static_cast<std::uint32_t>(profile.layers.size());
  std::vector<Work> passes, wanted;
  std::map<LayerId, std::size_t> updates;  // by layer or `everything`: number of passes before it
  std::size_t count = 0;                   // number of updates
  for (const Work& one : role.program) {
    if (one.kind == Activity::Forward || one.kind == Activity::Backward) {
      passes.push_back(one);
    } else if (one.kind == Activity::Update) {
      updates.emplace(one.item, passes.size());
      ++count;
    } else if (one.item >= plan.blocks.size() || one.micro_batch >= plan.sharding.accumulate) {
      return Complaint{"the program copies a block that does not exist", "the number of a block"};
    }
  }
  for (std::uint32_t micro_batch = 0; micro_batch < plan.sharding.accumulate; ++micro_batch) {
    for (std::uint32_t layer = 0; layer < layers; ++layer) wanted.push_back({Activity::Forward, layer, micro_batch});
    for (std::uint32_t layer = layers; layer-- > 0;) wanted.push_back({Activity::Backward, layer, micro_batch});
  }
  const Complaint wrong{"the program is not one iteration",
                        "every forward and backward pass of each micro-batch, in turn, and the update after them"};
  const auto first = passes.empty() ? wanted.end() : std::find(wanted.begin(), wanted.end(), passes.front());
  if (first == wanted.end() || passes.size() != wanted.size()) return wrong;
  const bool from_forward = first == wanted.begin();
  if (!from_forward && !(first->kind == Activity::Backward && first->item + 1 == layers)) return wrong;
  const auto before = static_cast<std::size_t>(wanted.end() - first);  // number of passes up to the last backward pass
  std::rotate(wanted.begin(), first, wanted.end());
  if (passes != wanted) return wrong;
  const bool in_one = updates.contains(everything);
  if (updates.empty() && profile.update > Time(0))
    return Complaint{"the program has no update, but the profile has one",
                     "{\"update\": \"everything\"} in it, or update=0"};
  if (count != updates.size() || (in_one && count != 1) || (plan.sharding.shards_optimizer() && !in_one)) return wrong;
  if (plan.sharding.shards_parameters() && !from_forward)
    return Complaint{"the program starts within the iteration",
                     "the first forward pass: parameters are gathered for it"};
  for (const auto& [layer, at] : updates)
    if (at < before || at > before + layers || (in_one && at != before)) return wrong;
  return in_one || updates.empty() ? std::nullopt : not_updated(updates, before, profile);
}

}  // namespace

std::optional<Complaint> find_iteration_error(const Plan& plan, const Profile& profile) {
  if (plan.sharding.averages()) return not_a_round(plan, profile);
  for (const Role& role : plan.roles)
    if (auto wrong = find_iteration_error(role, plan, profile)) return wrong;
  return std::nullopt;
}

void require_bearable_passes(const ShardingConfig& sharding, const Profile& profile, const SourceLocation& place) {
  // About 3 GB: a pass takes up to 400 bytes (measured: two classes of workers), and with its own transfers, for each
  // layer or piece of it, up to 1.4 kB.
  const std::int64_t most_passes = sharding.shards_gradients() ? 2'000'000 : 8'000'000;
  const auto layers = static_cast<std::int64_t>(profile.layers.size());
  const std::int64_t micro_batches = sharding.micro_batches();
  if (micro_batches > 1 && micro_batches > most_passes / (2 * layers))
    throw InputError(
        place, fmt::format("{} micro-batches of {} layers are more than {} passes", micro_batches, layers, most_passes),
        fmt::format("at most {}", most_passes / (2 * layers)));
}

void require_complete(const BucketSchedule& schedule, const Profile& profile) {
  std::vector<const Slice*> slices;
  for (const Block& block : schedule.blocks)
    for (const Slice& slice : block.slices) slices.push_back(&slice);
  std::sort(slices.begin(), slices.end(), [](const Slice* a, const Slice* b) {
    return a->tensor != b->tensor ? a->tensor < b->tensor : a->offset < b->offset;
  });
  std::size_t next = 0;
  for (TensorId tensor = 0; tensor < profile.tensors.size(); ++tensor) {
    Bytes sent = 0;
    for (; next < slices.size() && slices[next]->tensor == tensor && slices[next]->offset == sent; ++next)
      sent += slices[next]->bytes;
    if (sent != (profile.is_frozen(tensor) ? 0 : profile.tensors[tensor].bytes))
      throw std::logic_error(fmt::format("{}: bytes of '{}' from {} are left out or sent twice", schedule.strategy,
                                         profile.tensors[tensor].name, sent));
  }
  if (next != slices.size())
    throw std::logic_error(schedule.strategy + ": a slice that is sent twice, or of no tensor");
}

void require_covered(const Plan& plan, const Profile& profile) {
  if (const auto wrong = find_plan_error(plan, profile))
    throw std::logic_error(fmt::format("{}: {} ({})", plan.strategy, wrong->what, wrong->remedy));
}

}  // namespace allreplay
