#include "sim/network/rounds_fabric.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/collective/two_level.hpp"
#include "sim/core/named.hpp"
#include "sim/network/fidelity.hpp"
#include "sim/network/fluid.hpp"
#include "sim/network/lockstep.hpp"
#include "sim/network/message.hpp"
#include "sim/network/reuse.hpp"
#include "sim/network/round_load.hpp"
#include "sim/network/routed_rounds.hpp"

namespace allreplay {

std::int64_t hierarchy_of(std::int64_t ranks, std::int64_t stride, std::int64_t beside) {
  const std::int64_t size = beside / stride;
  return size > 1 && ranks % size == 0 ? ranks / size : 1;
}

RoundsFabric::RoundsFabric(const NetworkSetup& setup, const Topology& topology)
    : setup_(setup), shapes_(std::make_shared<Shapes>()), loads_(call_count) {
  for (const Call& call : setup_.calls)
    loads_[service_of(call)] =
        std::make_shared<RoundLoads>(rounds_of_call(call, topology.group_size()), topology, *shapes_, setup_.levels);
}

Rounds RoundsFabric::rounds_of_call(const Call& call, std::int64_t hosts_beside) const {
  const Groups groups{setup_.workers, setup_.shard > 0 ? setup_.shard : setup_.workers};
  const std::int64_t ranks = groups.ranks(call.axis), stride = groups.stride(call.axis);
  if (ranks == 1) return {.ranks = static_cast<Rank>(setup_.workers)};  // one worker sends nothing
  CollectiveOptions options = setup_.options;
  options.rails = setup_.rails;
  if (ranks < setup_.workers) {
    const std::int64_t beside = setup_.levels.node_workers > 0 ? setup_.levels.node_workers : hosts_beside;
    options.groups = hierarchy_of(ranks, stride, beside);
  }
  const std::vector<InNodes> lie = groups_in_nodes(ranks, stride);
  std::map<InNodes, std::uint32_t> known;
  std::vector<Rounds> kinds;
  std::vector<std::uint32_t> kind_of;
  for (const InNodes& in_nodes : lie) {
    const auto [kind, fresh] = known.emplace(in_nodes, static_cast<std::uint32_t>(kinds.size()));
    kind_of.push_back(kind->second);
    if (!fresh) continue;
    options.in_nodes = in_nodes;
    kinds.push_back(rounds_of(*setup_.algorithm, ranks, options, call.stage, setup_.place));
  }
  Rounds rounds = ranks == setup_.workers ? std::move(kinds.front())
                                          : among_groups(kinds, std::move(kind_of), static_cast<Rank>(setup_.workers),
                                                         static_cast<Rank>(stride));
  if (call.axis == Axis::Replica) rounds.piece_share /= static_cast<double>(groups.shard);
  if (call == Call(Stage::AllGather, Axis::Shard)) rounds.piece_share *= setup_.parameter_share;
  return rounds;
}

// Of each group, counted by its first rank; empty where each lies in one node, or has one rank in each: on one level.
std::vector<InNodes> RoundsFabric::groups_in_nodes(std::int64_t ranks, std::int64_t stride) const {
  const std::vector<InNodes> one_level(static_cast<std::size_t>(setup_.workers / ranks));
  if (setup_.levels.node_workers <= 1) return one_level;
  std::vector<InNodes> groups;
  bool two_levels = false;
  for (const auto& group : groups_by_node(setup_.workers, ranks, stride, setup_.levels.node_workers)) {
    InNodes& in_nodes = groups.emplace_back();
    for (const NodeShare& share : group) in_nodes.push_back(static_cast<Rank>(share.ranks));
    two_levels |= in_nodes.size() > 1 && *std::max_element(in_nodes.begin(), in_nodes.end()) > 1;
  }
  return two_levels ? groups : one_level;
}

std::unique_ptr<Server> RoundsFabric::server() const {
  if (!setup_.reuse || setup_.rates) return network();
  return std::make_unique<Reuse>(network(), [this](const Task& task, std::span<const Reuse::Joined>) {
    const std::int64_t before = pricing_events_;
    const Time time = alone(task.bytes, call_of(task.service));
    return Reuse::Price{time, pricing_events_ - before};
  });
}

Time RoundsFabric::alone(Bytes bytes, const Call& call) const {
  if (bytes <= 0) return Time(0);
  const auto priced = prices_.find({service_of(call), bytes});
  if (priced != prices_.end()) return priced->second;
  if (const auto time = setup_.reuse ? known(bytes, call) : std::nullopt) {
    pricing_events_ += loads_of(call).messages;
    prices_.emplace(std::pair(service_of(call), bytes), *time);
    return *time;
  }
  const std::unique_ptr<Server> idle = network();
  idle->start(0, {.bytes = bytes, .service = service_of(call)}, Time(0));
  std::vector<TaskId> done;
  Time now{0};
  while (done.empty()) {
    now = idle->next_completion();
    idle->complete(now, done);
  }
  pricing_events_ += idle->events();
  prices_.emplace(std::pair(service_of(call), bytes), now);
  return now;
}

CommCost RoundsFabric::price(const Call& call) const {
  const RoundLoads& loads = loads_of(call);
  return {loads.start_up(setup_.alpha), loads.per_byte(setup_.gamma)};
}

Time RoundsFabric::least(Bytes bytes, const Call& call, bool several) const {
  if (bytes <= 0) return Time(0);
  if (!several) return alone(bytes, call);
  const RoundLoads& loads = loads_of(call);
  return to_time(std::max(static_cast<double>(loads.length) * (setup_.alpha + loads.least_latency),
                          loads.busiest * static_cast<double>(bytes)));
}

Time RoundsFabric::least_behind(Bytes bytes, const Call& call, bool several) const {
  return several ? Time(0) : alone(bytes, call);
}

std::int64_t RoundsFabric::messages(const Call& call) const { return loads_of(call).messages; }

FluidFabric::FluidFabric(const NetworkSetup& setup, const Topology& topology) : RoundsFabric(setup, topology) {
  shapes_->fold();
}

std::unique_ptr<Server> FluidFabric::network() const {
  return std::make_unique<FluidNetwork>(loads_, shapes_, setup_.alpha, setup_.gamma, setup_.rates);
}

MessageFabric::MessageFabric(const NetworkSetup& setup, const Topology& topology) : RoundsFabric(setup, topology) {
  links_.assign(topology.links().begin(), topology.links().end());
  routed_.resize(call_count);
  for (const Call& call : setup.calls)
    routed_[service_of(call)] = std::make_shared<RoutedRounds>(rounds_of_call(call, topology.group_size()), topology,
                                                               setup.alpha, setup.levels);
}

std::unique_ptr<Server> MessageFabric::network() const {
  return std::make_unique<MessageNetwork>(routed_, links_, setup_.gamma);
}

// How far apart parties start differs each time: no price is used again, but a ring alone needs no simulation for it.
std::unique_ptr<Server> MessageFabric::server_apart(const Parties& parties) const {
  auto network = std::make_unique<MessageNetwork>(routed_, links_, setup_.gamma, parties);
  if (!setup_.reuse) return network;
  const auto price = [this, parties](const Task& task,
                                     std::span<const Reuse::Joined> joined) -> std::optional<Reuse::Price> {
    const RoutedRounds& rounds = *routed_[task.service];
    if (task.bytes <= 0) return Reuse::Price{joined.back().at};
    std::vector<Time> starts(rounds.ranks, Time(0));
    for (const Reuse::Joined& one : joined)
      for (const Rank rank : parties[one.party]) starts[rank] = one.at;
    const auto time = lockstep(rounds, links_, setup_.gamma * 1e12, static_cast<double>(task.bytes), starts);
    return time ? std::optional(Reuse::Price{*time, rounds.messages}) : std::nullopt;
  };
  return std::make_unique<Reuse>(std::move(network), price, parties.size());
}

std::optional<Time> MessageFabric::known(Bytes bytes, const Call& call) const {
  return lockstep(*routed_[service_of(call)], links_, setup_.gamma * 1e12, static_cast<double>(bytes));
}

std::shared_ptr<const RoundsFabric> lay_on(const NetworkSetup& setup, const Topology& topology) {
  if (setup.fidelity == Fidelity::Message) return std::make_shared<MessageFabric>(setup, topology);
  return std::make_shared<FluidFabric>(setup, topology);
}

Fidelity find_fidelity(std::string_view name, const Place& place) {
  if (name == "fluid") return Fidelity::Fluid;
  if (name == "message") return Fidelity::Message;
  throw InputError(place, fmt::format("unknown fidelity '{}'", name), suggest(name, names_of(fidelities)));
}

}  // namespace allreplay
