#include "sim/plans/schedule/plan.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/plans/schedule/experts.hpp"

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

ProgramIndex::ProgramIndex(const std::vector<Work>& program) : tables_(std::size(activity_rows)) {
  std::vector<std::size_t> micro_batches(tables_.size(), 0);
  const auto kind = [](const Work& work) { return static_cast<std::size_t>(work.kind); };
  for (const Work& work : program) {
    micro_batches[kind(work)] = std::max<std::size_t>(micro_batches[kind(work)], work.micro_batch + 1);
    if (work.item != everything)
      tables_[kind(work)].items = std::max<std::size_t>(tables_[kind(work)].items, work.item + 1);
  }
  for (std::size_t i = 0; i < tables_.size(); ++i)
    tables_[i].places.assign(micro_batches[i] * (tables_[i].items + 1), nowhere);
  for (std::size_t place = 0; place < program.size(); ++place) {
    const Work& work = program[place];
    Table& table = tables_[kind(work)];
    const std::size_t item = work.item == everything ? table.items : work.item;
    table.places[work.micro_batch * (table.items + 1) + item] = static_cast<std::uint32_t>(place);
  }
}

std::optional<std::size_t> ProgramIndex::find(const Work& work) const {
  const Table& table = tables_[static_cast<std::size_t>(work.kind)];
  if (work.item != everything && work.item >= table.items) return std::nullopt;
  const std::size_t item = work.item == everything ? table.items : work.item;
  const std::size_t index = work.micro_batch * (table.items + 1) + item;
  if (index >= table.places.size() || table.places[index] == nowhere) return std::nullopt;
  return table.places[index];
}

std::size_t ProgramIndex::operator()(Activity kind, std::uint32_t item, std::int64_t micro_batch) const {
  return find({kind, item, static_cast<std::uint32_t>(micro_batch)}).value();
}

namespace {

// The first micro-batch that is reduced. ZeRO-2 keeps no unsharded gradients, so it reduces all of them.
std::int64_t first_reduced(const ShardingConfig& sharding) {
  return sharding.shards_gradients() ? 0 : sharding.accumulate - 1;
}

bool updates(const Profile& profile, const ShardingConfig& sharding) {
  return sharding.shards_optimizer() || profile.update > Time(0) || profile.host.step > Time(0);
}

void add_passes(std::vector<Work>& program, Activity kind, LayerId layers, std::int64_t micro_batch) {
  for (LayerId i = 0; i < layers; ++i)
    program.push_back({kind, kind == Activity::Forward ? i : layers - 1 - i, static_cast<std::uint32_t>(micro_batch)});
}

// Adds the first forward pass and the update before it: in one piece, or for each layer before its pass.
void add_first_forward(std::vector<Work>& program, const Profile& profile, const ShardingConfig& sharding,
                       Barrier barrier) {
  const auto layers = static_cast<LayerId>(profile.layers.size());
  const bool shares = updates(profile, sharding) && !sharding.shards_optimizer() && barrier == Barrier::Layer;
  if (updates(profile, sharding) && !shares) program.push_back({Activity::Update, everything});
  const std::vector<bool> has_gradients = profile.has_gradients();
  for (LayerId layer = 0; layer < layers; ++layer) {
    if (shares && has_gradients[layer]) program.push_back({Activity::Update, layer});
    program.push_back({Activity::Forward, layer});
  }
}

}  // namespace

std::vector<Work> one_iteration(const Profile& profile, const ShardingConfig& sharding, Barrier barrier) {
  const auto layers = static_cast<LayerId>(profile.layers.size());
  const std::int64_t first = first_reduced(sharding);
  std::vector<Work> program;
  program.reserve(static_cast<std::size_t>(2 * sharding.accumulate) * profile.layers.size() + 1);
  add_passes(program, Activity::Backward, layers, first);
  for (std::int64_t micro_batch = first + 1; micro_batch < sharding.accumulate; ++micro_batch) {
    add_passes(program, Activity::Forward, layers, micro_batch);
    add_passes(program, Activity::Backward, layers, micro_batch);
  }
  add_first_forward(program, profile, sharding, barrier);
  for (std::int64_t micro_batch = 0; micro_batch < first; ++micro_batch) {
    add_passes(program, Activity::Backward, layers, micro_batch);
    add_passes(program, Activity::Forward, layers, micro_batch + 1);
  }
  return program;
}

bool has_host_step(const Plan& plan) {
  return std::ranges::any_of(plan.roles, [](const Role& role) {
    return std::ranges::any_of(role.program, [](const Work& work) { return work.kind == Activity::HostStep; });
  });
}

namespace {

// Inserts the host's part of a step into a role's program. `displaces`: what waited to start the work there waits for
// the work behind the host's part.
void insert_host_step(Plan& plan, std::uint32_t role, std::uint32_t place, bool displaces) {
  std::vector<Work>& program = plan.roles[role].program;
  program.insert(program.begin() + place, {Activity::HostStep, everything});
  const auto move = [&](WorkPoint& point) {
    if (point.role == role && point.place >= place) ++point.place;
  };
  for (Gate& gate : plan.gates) {
    if (auto* before = std::get_if<WorkPoint>(&gate.before)) move(*before);
    auto* after = std::get_if<WorkPoint>(&gate.after);
    if (after && (displaces || after->role != role || after->place != place)) move(*after);
  }
  for (WorkPair& pair : plan.roles[role].pairs)
    for (std::uint32_t* at : {&pair.forward, &pair.backward, &pair.end})
      if (*at >= place) ++*at;
  for (Transfer& one : plan.transfers)
    for (std::optional<WorkPoint>* point : {&one.held_until, &one.ticks_from})
      if (*point) move(**point);
}

}  // namespace

Plan with_host_step(Plan plan) {
  for (std::uint32_t role = 0; role < plan.roles.size(); ++role) {
    const std::vector<Work>& program = plan.roles[role].program;
    std::vector<std::uint32_t> whole, by_layer;  // places behind updates of everything, and of layers
    for (std::uint32_t place = 0; place < program.size(); ++place)
      if (program[place].kind == Activity::Update)
        (program[place].item == everything ? whole : by_layer).push_back(place + 1);
    if (whole.empty() && !by_layer.empty()) whole = {by_layer.back()};  // one step, which ends with its last layer
    for (auto place = whole.rbegin(); place != whole.rend(); ++place) insert_host_step(plan, role, *place, true);
    if (!whole.empty()) continue;
    // Without an update the step waits for the predecessors of the first forward pass.
    const auto first = std::ranges::find_if(
        program, [](const Work& work) { return work.kind == Activity::Forward && work.micro_batch == 0; });
    insert_host_step(plan, role, static_cast<std::uint32_t>(first - program.begin()), false);
  }
  return plan;
}

Plan from_first_micro_batch(Plan plan) {
  std::vector<Work>& program = plan.program();
  if (program.empty() || program.front().micro_batch == 0) return plan;
  const auto cut = std::find_if(program.begin(), program.end(), [](const Work& work) {
    return work.kind == Activity::Backward && work.micro_batch == 0;
  });
  const auto works = static_cast<std::uint32_t>(program.size());
  const auto before = static_cast<std::uint32_t>(cut - program.begin());
  const auto move = [&](WorkPoint& point) { point.place = (point.place + works - before) % works; };
  std::rotate(program.begin(), cut, program.end());
  for (Gate& gate : plan.gates)
    for (PlanPoint* point : {&gate.before, &gate.after})
      if (auto* one = std::get_if<WorkPoint>(point)) move(*one);
  for (Transfer& one : plan.transfers) {
    if (one.held_until) move(*one.held_until);
    if (one.ticks_from)
      move(*one.ticks_from);
    else if (plan.lanes[one.lane].tick > Time(0))
      one.ticks_from = WorkPoint{works - before - 1};
  }
  return plan;
}

namespace {

class Expansion {
 public:
  Expansion(BucketSchedule schedule, const Profile& profile, const ShardingConfig& sharding)
      : profile_(profile), queueing_(schedule) {
    plan_.strategy = std::move(schedule.strategy);
    plan_.sharding = sharding;
    plan_.groups = data_parallel_groups(sharding);
    plan_.program() = one_iteration(profile, sharding, schedule.barrier);
    plan_.blocks = std::move(schedule.blocks);
    plan_.queueing = queueing_;
    for (const Block& block : plan_.blocks) first_layer_.push_back(first_layer(block, profile));
  }

  Plan make() {
    const ProgramIndex places(plan_.program());
    if (plan_.sharding.shards_optimizer())
      add_sharded(places);
    else
      add_whole(places);
    return std::move(plan_);
  }

 private:
  std::size_t count() const { return plan_.blocks.size(); }

  // The work after which the block's gradients of the micro-batch are ready.
  PlanPoint made(const ProgramIndex& places, std::size_t index, std::int64_t micro_batch) const {
    return work(
        places(Activity::Backward, queueing_.release == Release::Backward ? 0 : first_layer_[index], micro_batch));
  }

  // The work that waits for the block: a layer of the first forward pass, or the layer's update if it has one.
  PlanPoint needed(const ProgramIndex& places, std::size_t index) const {
    const LayerId layer = queueing_.barrier == Barrier::Iteration ? 0 : first_layer_[index];
    const std::uint32_t share = queueing_.barrier == Barrier::Iteration ? everything : layer;
    const auto update = places.find({Activity::Update, share});
    return work(update && !plan_.sharding.shards_optimizer() ? *update : places(Activity::Forward, layer, 0));
  }

  void add_whole(const ProgramIndex& places) {
    plan_.lanes = {{"network", queueing_.order, queueing_.window, queueing_.tick}};
    if (plan_.sharding.has_expert_groups()) {
      plan_.lanes.push_back(plan_.lanes.front());
      plan_.lanes.back().name = "expert";
    }
    plan_.transfers.reserve(queueing_.split ? 2 * count() : count());
    plan_.gates.reserve(queueing_.split ? 4 * count() : 2 * count());
    const std::int64_t micro_batch = plan_.sharding.accumulate - 1;
    // Reduce-scatters go before every all-gather, however urgent that is.
    constexpr std::int64_t first = std::numeric_limits<std::int64_t>::min();
    for (std::uint32_t index = 0; index < count(); ++index) {
      const Block& block = plan_.blocks[index];
      const bool experts = plan_.sharding.has_expert_groups() && is_of_experts(block, profile_);
      add({.op = queueing_.split ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce,
           .group = experts ? group_expert : group_all,
           .payload = {Payload::Kind::Gradients, index},
           .lane = experts ? 1U : 0U,
           .priority = queueing_.split ? first : block.priority,
           .micro_batch = static_cast<std::uint32_t>(micro_batch)});
      plan_.gates.push_back({made(places, index, micro_batch), transfer(index)});
    }
    const PlanPoint end = work(places(Activity::Backward, 0, micro_batch));
    for (std::uint32_t index = 0; queueing_.split && index < count(); ++index) {
      const std::size_t gather = add({.op = CollectiveOp::AllGather,
                                      .payload = {Payload::Kind::Gradients, index},
                                      .priority = plan_.blocks[index].priority});
      plan_.gates.push_back({transfer(index), transfer(gather)});
      plan_.gates.push_back({end, transfer(gather)});
    }
    for (std::size_t index = 0; index < count(); ++index)
      plan_.gates.push_back({transfer(queueing_.split ? count() + index : index), needed(places, index)});
  }

  void add_sharded(const ProgramIndex& places) {
    enum : std::uint32_t { gather, reduce, replicate };
    plan_.lanes = {{"gather", Order::AsListed, {}, Time(0)},
                   {"reduce", queueing_.order, queueing_.window, queueing_.tick},
                   {"replicate", queueing_.order, {}, Time(0)}};
    const bool groups = plan_.sharding.shard_group > 0;
    if (!groups) plan_.lanes.pop_back();
    const PlanPoint update = work(places(Activity::Update, everything, 0));
    const std::int64_t from = first_reduced(plan_.sharding);
    const std::vector<std::int64_t> ranks = priorities(plan_.sharding.accumulate - from);
    std::size_t key = 0;
    for (std::int64_t micro_batch = from; micro_batch < plan_.sharding.accumulate; ++micro_batch)
      for (std::uint32_t index = 0; index < count(); ++index) {
        const std::int64_t priority = ranks[key++];
        Transfer one{.op = CollectiveOp::ReduceScatter,
                     .group = group_shard,
                     .payload = {Payload::Kind::Gradients, index},
                     .lane = reduce,
                     .priority = priority,
                     .micro_batch = static_cast<std::uint32_t>(micro_batch)};
        std::size_t last = add(one);
        plan_.gates.push_back({made(places, index, micro_batch), transfer(last)});
        if (groups) {
          one.op = CollectiveOp::AllReduce;
          one.group = group_replica;
          one.lane = replicate;
          plan_.gates.push_back({transfer(last), transfer(last + 1)});
          last = add(one);
        }
        plan_.gates.push_back({transfer(last), update});
      }
    for (const std::uint32_t index : by_need()) {
      const std::size_t last = add({.op = CollectiveOp::AllGather,
                                    .group = group_shard,
                                    .payload = {Payload::Kind::Parameters, index},
                                    .lane = gather});
      plan_.gates.push_back({update, transfer(last)});
      plan_.gates.push_back({transfer(last), needed(places, index)});
    }
  }

  // Priorities by micro-batch and block. All blocks of an earlier micro-batch go first.
  std::vector<std::int64_t> priorities(std::int64_t micro_batches) const {
    std::vector<std::int64_t> keys;
    for (const Block& block : plan_.blocks) keys.push_back(block.priority);
    if (micro_batches == 1) return keys;
    std::vector<std::int64_t> sorted = keys, all;
    std::sort(sorted.begin(), sorted.end());
    for (std::int64_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch)
      for (const std::int64_t key : keys)
        all.push_back(micro_batch * static_cast<std::int64_t>(count()) +
                      (std::lower_bound(sorted.begin(), sorted.end(), key) - sorted.begin()));
    return all;
  }

  // The blocks in the order in which the forward pass needs them; ties by priority.
  std::vector<std::uint32_t> by_need() const {
    std::vector<std::uint32_t> order(count());
    for (std::uint32_t index = 0; index < count(); ++index) order[index] = index;
    const auto key = [&](std::uint32_t index) {
      return std::pair(first_layer_[index],
                       queueing_.order == Order::Priority ? plan_.blocks[index].priority : std::int64_t{0});
    };
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    return order;
  }

  std::size_t add(Transfer one) {
    one.bytes = wire_bytes(plan_, one.group, one.payload, profile_);
    plan_.transfers.push_back(one);
    return plan_.transfers.size() - 1;
  }

  const Profile& profile_;
  QueueingPolicy queueing_;
  Plan plan_;
  std::vector<LayerId> first_layer_;  // by block
};

}  // namespace

Plan expand(BucketSchedule schedule, const Profile& profile, const ShardingConfig& sharding) {
  return Expansion(std::move(schedule), profile, sharding).make();
}

BucketSchedule bucket_schedule_of(Plan plan) {
  return {*plan.queueing, std::move(plan.strategy), std::move(plan.blocks)};
}

bool uses_halves(const Plan& plan) {
  return std::any_of(plan.transfers.begin(), plan.transfers.end(),
                     [](const Transfer& transfer) { return transfer.op != CollectiveOp::AllReduce; });
}

Call call_of(const Plan& plan, const Transfer& transfer) {
  return {carried_as(transfer.op), plan.groups[transfer.group].group};
}

std::vector<Call> calls_of(const Plan& plan) {
  std::vector<Call> calls;
  std::set<std::pair<CollectiveOp, std::uint32_t>> seen;
  for (const Transfer& one : plan.transfers) {
    if (!one.travels() || !seen.emplace(one.op, one.group).second) continue;
    const Call call = call_of(plan, one);
    if (std::find(calls.begin(), calls.end(), call) == calls.end()) calls.push_back(call);
  }
  return calls;
}

WireBytes wire_bytes(const Plan& plan, std::uint32_t group, const Payload& payload, const Profile& profile) {
  const Block& block = plan.blocks[payload.block];
  using enum Payload::Kind;
  double bytes = static_cast<double>(block.bytes());
  if (const WireType& wire = payload.wire; wire.quantises()) {
    const std::int64_t elements = elements_of(block, profile);
    bytes = static_cast<double>(elements * wire.bits) / 8;
    if (wire.block > 0) bytes += static_cast<double>((elements + wire.block - 1) / wire.block * wire.scale_bytes);
  } else if (payload.kind == Parameters || payload.kind == Secondary || payload.kind == PseudoGradient) {
    bytes *= profile.parameter_share();
  }
  return bytes * plan.groups[group].share;
}

std::int64_t elements_of(const Block& block, const Profile& profile) {
  std::int64_t elements = 0;
  for (const Slice& slice : block.slices) {
    const Tensor& tensor = profile.tensors[slice.tensor];
    elements += slice.bytes / (tensor.bytes / tensor.elements);
  }
  return elements;
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

std::string describe_transfer(const Plan& plan, std::size_t index, const Profile& profile) {
  const Transfer& one = plan.transfers[index];
  if (!one.travels())
    return fmt::format("transfer {} ({} of {})", index, to_string(one.computes), names_of(plan.block_of(one), profile));
  if (one.payload.block == Payload::just_bytes)
    return fmt::format("transfer {} ({} {})", index, to_string(one.op), plan.groups[one.group].name);
  return fmt::format("transfer {} ({} of {})", index, to_string(one.op), names_of(plan.block_of(one), profile));
}

std::string describe(const Plan& plan, std::size_t block, const Profile& profile) {
  return fmt::format("block {} ({})", block, names_of(plan.blocks[block], profile));
}

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
