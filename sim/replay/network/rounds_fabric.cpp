#include "sim/replay/network/rounds_fabric.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/plans/collective/two_level.hpp"
#include "sim/replay/network/fidelity.hpp"
#include "sim/replay/network/fluid.hpp"
#include "sim/replay/network/lockstep.hpp"
#include "sim/replay/network/message.hpp"
#include "sim/replay/network/reuse.hpp"
#include "sim/replay/network/round_load.hpp"
#include "sim/replay/network/routed_rounds.hpp"

namespace allreplay {

bool NetworkSetup::operator==(const NetworkSetup& other) const {
  const auto values = [](const NetworkSetup& one) {
    return std::tie(one.fidelity, one.workers, one.alpha, one.gamma, one.options, one.reuse, one.fold, one.rates,
                    one.place, one.calls, one.levels, one.rails);
  };
  if (!nccl || !other.nccl) return nccl == other.nccl && values(*this) == values(other);
  return *nccl == *other.nccl && values(*this) == values(other);
}

std::vector<RoundsFabric::NcclCall> RoundsFabric::nccl_calls() {
  std::vector<NcclCall> result;
  for (CallId id = 0; setup_.nccl && id < calls().size(); ++id) {
    const Call& call = calls()[id];
    if (!is_nccl(call) || call.group.ranks == 1) continue;
    NcclCall one{id, nccl_price(*setup_.nccl, call, setup_.workers), {}};
    for (const std::string_view name : one.price.algorithms()) {
      const Laid laid{{call.op, call.group, &nccl_algorithm(name, call.op)}, true};
      one.laid.push_back({name, one.laid.empty() ? id : static_cast<std::uint32_t>(laid_.size())});
      if (one.laid.size() == 1)
        laid_[id] = laid;
      else
        laid_.push_back(laid);
    }
    result.push_back(std::move(one));
  }
  return result;
}

RoundsFabric::RoundsFabric(const NetworkSetup& setup, const Topology& topology)
    : Fabric(setup.calls, setup.workers), setup_(setup), shapes_(std::make_shared<Shapes>()) {
  for (const Call& call : calls()) laid_.push_back({call});
  by_nccl_ = nccl_calls();
  for (std::uint32_t number = 0; number < laid(); ++number)
    loads_.push_back(std::make_shared<RoundLoads>(rounds_laid(number, topology.group_size()), topology, *shapes_,
                                                  levels_of(number)));
  if (!by_nccl_.empty()) {
    const auto rails = make_topology(*topology_of(*setup_.nccl), setup_.workers);
    for (NcclCall& one : by_nccl_)
      for (NcclOnLinks::Laid& laid : one.laid)
        laid.on_rails = busiest_links(rounds_laid(laid.rounds, rails->group_size()), *rails);
  }
  nccl_ = nccl_on(loads_);
}

NcclCalls RoundsFabric::nccl_on(std::span<const std::shared_ptr<const RoundLoads>> loads, std::uint32_t first) const {
  NcclCalls calls_on(calls().size());
  for (const NcclCall& one : by_nccl_) {
    std::vector<NcclOnLinks::Laid> on = one.laid;
    for (NcclOnLinks::Laid& laid : on) {
      const RoundLoads& load = *loads[laid.rounds];
      laid.latency = load.start_up(0) - load.path.saving(0, 0).start_up;
      laid.busy = load.per_byte(0);
      laid.levels = load.levels;
      laid.busiest = load.busiest;
      laid.rounds += first;
    }
    calls_on[one.call] = std::make_shared<NcclOnLinks>(one.price, std::move(on));
  }
  return calls_on;
}

// The start-ups of NCCL's collectives come from its model, and contain the latency of usual routes.
LevelAlpha RoundsFabric::levels_of(std::uint32_t number) const {
  if (!laid_[number].by_nccl) return setup_.levels;
  const NcclHops contained = longest_hops(*setup_.nccl->nccl);
  return {setup_.levels.node_workers, -contained.inside, -contained.between};
}

RoundsFabric::Sent RoundsFabric::sent(CallId call, double bytes) const {
  if (!nccl_[call] || bytes <= 0) return {call, bytes};
  const NcclWay way = nccl_[call]->way(bytes);
  return {way.rounds, way.bytes * bytes};
}

Rounds RoundsFabric::rounds_laid(std::uint32_t number, std::int64_t group_size) const {
  const Call& call = laid_[number].call;
  const bool by_nccl = laid_[number].by_nccl;
  const auto [ranks, stride, repeats, first, members] = call.group;
  if (ranks == 1) return {.ranks = static_cast<Rank>(setup_.workers)};  // one worker sends nothing
  if (call.op == CollectiveOp::Send) return send_rounds(call.group, static_cast<Rank>(setup_.workers));
  const auto without_reductions = [&](Rounds rounds) {
    rounds.reduction_costs = rounds.reduction_costs && !by_nccl;
    return rounds;
  };
  if (call.group.workers() < setup_.workers) return without_reductions(rounds_of_part(call, by_nccl, group_size));
  CollectiveOptions options = setup_.options;
  options.rails = setup_.rails;
  if (repeats > 1) {
    const std::int64_t together = setup_.levels.node_workers > 0 ? setup_.levels.node_workers : group_size;
    options.groups = hierarchy_groups(ranks, stride, together);
  }
  std::map<InNodes, std::uint32_t> known;
  std::vector<Rounds> kinds;
  std::vector<std::uint32_t> kind_of;
  for (const InNodes& in_nodes : groups_in_nodes(call.group, by_nccl)) {
    const auto [kind, fresh] = known.emplace(in_nodes, static_cast<std::uint32_t>(kinds.size()));
    kind_of.push_back(kind->second);
    if (!fresh) continue;
    options.in_nodes = in_nodes;
    kinds.push_back(rounds_of(*call.algorithm, ranks, options, call.op, setup_.place));
  }
  if (repeats == 1) return without_reductions(std::move(kinds.front()));
  return without_reductions(
      among_groups(kinds, std::move(kind_of), static_cast<Rank>(setup_.workers), static_cast<Rank>(stride)));
}

// The rounds of groups that do not contain all workers, and are distributed over nodes in the same way.
Rounds RoundsFabric::rounds_of_part(const Call& call, bool chains, std::int64_t group_size) const {
  const Group& group = call.group;
  const auto ranks = static_cast<Rank>(group.ranks), all = static_cast<Rank>(setup_.workers);
  CollectiveOptions options = setup_.options;
  options.rails = setup_.rails;
  const std::int64_t node = setup_.levels.node_workers;
  options.groups = group.members.empty() ? hierarchy_groups(ranks, group.stride, node > 0 ? node : group_size) : 1;
  if (node > 1 && group.members.empty() && group.workers() > node) {
    const auto groups = groups_by_node(group.workers(), ranks, group.stride, node);
    for (const NodeShare& share : groups.front()) options.in_nodes.push_back(static_cast<Rank>(share.ranks));
  }
  if ((options.in_nodes.size() == 1 && !chains) || (!options.in_nodes.empty() && options.in_nodes.front() == 1))
    options.in_nodes.clear();
  return among_part(rounds_of(*call.algorithm, ranks, options, call.op, setup_.place), group, all);
}

// By group, in the order of first ranks: its ranks in each node. All empty if one level suffices: each group lies in
// one node (and `chains` is not set), or has one rank per node.
std::vector<InNodes> RoundsFabric::groups_in_nodes(const Group& group, bool chains) const {
  const std::vector<InNodes> one_level(static_cast<std::size_t>(group.repeats));
  if (setup_.levels.node_workers <= 1) return one_level;
  std::vector<InNodes> groups;
  bool two_levels = false;
  for (const auto& nodes : groups_by_node(setup_.workers, group.ranks, group.stride, setup_.levels.node_workers)) {
    InNodes& in_nodes = groups.emplace_back();
    for (const NodeShare& share : nodes) in_nodes.push_back(static_cast<Rank>(share.ranks));
    two_levels |= (chains || in_nodes.size() > 1) && *std::max_element(in_nodes.begin(), in_nodes.end()) > 1;
  }
  return two_levels ? groups : one_level;
}

std::unique_ptr<Server> RoundsFabric::server() const {
  if (!setup_.reuse || setup_.rates) return network();
  const auto make = [this] { return network(); };
  return std::make_unique<Reuse>(make, [this](const Task& task, std::span<const Reuse::Joined>) {
    const std::int64_t before = pricing_events_;
    const Time time = alone(task.bytes, calls()[task.call_id]);
    return Reuse::Price{time, pricing_events_ - before};
  });
}

Time RoundsFabric::alone(WireBytes bytes, const Call& call) const {
  if (bytes <= 0) return Time(0);
  const auto [price, fresh] = prices_.try_emplace({id_of(call), bytes});
  if (fresh) {
    price->second = find_price(bytes, call);
    pricing_events_ += price->second.events;
  }
  return price->second.time;
}

RoundsFabric::Price RoundsFabric::find_price(WireBytes bytes, const Call& call) const {
  const std::pair key(id_of(call), bytes.count);
  {
    const std::lock_guard guard(shared_prices_->mutex);
    if (const auto known = shared_prices_->prices.find(key); known != shared_prices_->prices.end())
      return known->second;
  }
  const Price price = price_alone(bytes, call);
  const std::lock_guard guard(shared_prices_->mutex);
  shared_prices_->prices.emplace(key, price);
  return price;
}

RoundsFabric::Price RoundsFabric::price_alone(WireBytes bytes, const Call& call) const {
  if (const auto time = setup_.reuse ? known(bytes, call) : std::nullopt) return {*time, loads_of(call).messages};
  const std::unique_ptr<Server> idle = network();
  idle->start(0, {.bytes = bytes, .call_id = id_of(call)}, Time(0));
  std::vector<TaskId> done;
  Time now{0};
  while (done.empty()) {
    now = idle->next_completion();
    idle->complete(now, done);
  }
  return {now, idle->events()};
}

std::size_t RoundsFabric::bytes() const {
  std::size_t sum = 0;
  for (const auto& loads : loads_) sum += loads->path.hops() * sizeof(Hop);
  return sum;
}

namespace {

// The cost in `fluid` of a single collective whose rounds overlap.
class PathPrice final : public SizePrice {
 public:
  PathPrice(std::shared_ptr<const RoundLoads> loads, double alpha, double gamma)
      : loads_(std::move(loads)),
        alpha_(alpha),
        start_up_(loads_->start_up(alpha)),
        reduction_(loads_->per_byte(gamma) - loads_->per_byte(0)) {}

  Cost of(double bytes) const override {
    const Pace pace = loads_->pace(alpha_, bytes);
    return {pace.seconds + reduction_ * bytes, pace.start_ups * start_up_};
  }
  // Blocks one after another take no less: T is the longest of paths, none of which has a negative start-up.
  double least(double bytes) const override { return seconds(bytes); }

 private:
  std::shared_ptr<const RoundLoads> loads_;
  double alpha_, start_up_, reduction_;  // s, s, s/B
};

}  // namespace

CommCost RoundsFabric::price(const Call& call) const {
  if (const auto& nccl = nccl_[id_of(call)]) return CommCost(nccl);
  const RoundLoads& loads = loads_of(call);
  if (loads.path.saves(setup_.alpha))
    return CommCost(std::make_shared<PathPrice>(loads_[id_of(call)], setup_.alpha, setup_.gamma));
  return {loads.start_up(setup_.alpha), loads.per_byte(setup_.gamma)};
}

Time RoundsFabric::least(WireBytes bytes, const Call& call, bool several) const {
  if (bytes <= 0) return Time(0);
  if (const auto& nccl = nccl_[id_of(call)])
    return to_time(several || setup_.fidelity == Fidelity::Message ? nccl->least_combined(bytes) : nccl->least(bytes));
  if (!several) return alone(bytes, call);
  const RoundLoads& loads = loads_of(call);
  return to_time(
      std::max(static_cast<double>(loads.length) * (setup_.alpha + loads.least_latency), loads.busiest * bytes));
}

Time RoundsFabric::least_behind(WireBytes bytes, const Call& call, bool several) const {
  return several ? Time(0) : least(bytes, call, several);
}

std::int64_t RoundsFabric::messages(const Call& call) const { return loads_of(call).messages; }

std::int64_t RoundsFabric::messages_laid(std::uint32_t number) const { return loads_[number]->messages; }

bool RoundsFabric::routes_differ(const Call& call) const {
  const RoundLoads& loads = loads_of(call);
  const auto longer = [&](const RoundLoad& round) { return round.latency > loads.least_latency; };
  return std::any_of(loads.rounds.begin(), loads.rounds.end(), longer) || loads.path.saves(setup_.alpha);
}

double RoundsFabric::start_ups(WireBytes bytes, const Call& call) const {
  if (bytes <= 0) return 0;
  if (const auto& nccl = nccl_[id_of(call)]) return nccl->of(bytes).start_up;
  const RoundLoads& loads = loads_of(call);
  const Saving saved = loads.path.saving(setup_.alpha, bytes);
  const double path = loads.start_up(setup_.alpha) + loads.per_byte(0) * bytes - saved.of(bytes);
  return path < loads.busiest * bytes ? 0 : loads.start_up(setup_.alpha) - saved.start_up;
}

double RoundsFabric::rings_above_message(WireBytes bytes, const Call& call) const {
  const CallId id = id_of(call);
  if (bytes <= 0 || setup_.rails == 1 || nccl_[id] || calls()[id].algorithm->name != "ring") return 1;
  const RoundLoads& loads = loads_of(call);
  if (!loads.path.saves(setup_.alpha)) return 1;
  constexpr double as_long = 1.01;
  const double takes = loads.pace(setup_.alpha, bytes).seconds;
  const auto above = [&](double at) {
    const double started = loads.start_up(setup_.alpha) - loads.path.saving(setup_.alpha, at).start_up;
    return takes / std::max(started, loads.busiest * bytes);
  };
  // The longest path at this size has no more start-ups than the one at size 0, which needs another long search.
  const double at_most = above(bytes);
  return at_most <= as_long ? at_most : above(0);
}

FluidFabric::FluidFabric(const NetworkSetup& setup, const Topology& topology) : RoundsFabric(setup, topology) {
  shapes_->fold();
}

std::unique_ptr<Server> FluidFabric::network() const {
  return std::make_unique<FluidNetwork>(loads_, shapes_, setup_.alpha, setup_.gamma, setup_.rates, nccl_);
}

MessageFabric::MessageFabric(const NetworkSetup& setup, const Topology& topology) : RoundsFabric(setup, topology) {
  links_.assign(topology.links().begin(), topology.links().end());
  for (std::uint32_t number = 0; number < laid_.size(); ++number)
    routed_.push_back(std::make_shared<RoutedRounds>(rounds_laid(number, topology.group_size()), topology,
                                                     alpha_of(number), levels_of(number)));
}

std::size_t MessageFabric::bytes() const {
  std::size_t sum = RoundsFabric::bytes() + links_.size() * sizeof(Link);
  for (const auto& routed : routed_) {
    sum += (routed->links.size() + routed->crowds.size()) * sizeof(LinkId);
    for (const RoutedRound& round : routed->rounds) sum += round.messages.size() * sizeof(RoutedMessage);
  }
  return sum;
}

std::unique_ptr<Server> MessageFabric::network() const {
  std::call_once(folded_->once, [&] {
    if (setup_.fold && setup_.gamma == 0) folded_->rounds = allreplay::fold(routed_, links_);
  });
  if (const auto& folded = folded_->rounds)
    return std::make_unique<MessageNetwork>(folded->collectives, folded->links, 0, Parties(), nccl_);
  return std::make_unique<MessageNetwork>(routed_, links_, setup_.gamma, Parties(), nccl_);
}

// The offsets between parties differ each time, so no price is used again; but a single ring needs no simulation.
std::unique_ptr<Server> MessageFabric::server_per_rank(const Parties& parties) const {
  const auto make = [this, parties] {
    return std::make_unique<MessageNetwork>(routed_, links_, setup_.gamma, parties, nccl_);
  };
  if (!setup_.reuse) return make();
  const auto price = [this, parties](const Task& task,
                                     std::span<const Reuse::Joined> joined) -> std::optional<Reuse::Price> {
    if (task.bytes <= 0) return Reuse::Price{joined.back().at};
    std::vector<Time> starts(static_cast<std::size_t>(workers()), Time(0));
    for (const Reuse::Joined& one : joined)
      for (const Rank rank : parties[one.party]) starts[rank] = one.at;
    const auto time = alone_from(std::move(starts), task.bytes, task.call_id);
    return time ? std::optional(Reuse::Price{*time, routed_[task.call_id]->messages}) : std::nullopt;
  };
  return std::make_unique<Reuse>(make, price, parties.size());
}

std::optional<Time> MessageFabric::known(WireBytes bytes, const Call& call) const {
  return alone_from({}, bytes, id_of(call));
}

std::optional<Time> MessageFabric::alone_from(std::vector<Time> starts, double bytes, CallId call) const {
  NcclWay way{.rounds = call, .bytes = 1};
  if (nccl_[call]) {
    way = nccl_[call]->way(bytes);
    starts.resize(routed_[way.rounds]->ranks, Time(0));
    for (Time& start : starts) start = add(start, to_time(way.base));
  }
  return lockstep(*routed_[way.rounds], links_, setup_.gamma * 1e12, bytes * way.bytes, starts,
                  {way.start_ups[0] * 1e12, way.start_ups[1] * 1e12});
}

std::shared_ptr<const RoundsFabric> lay_on(const NetworkSetup& setup, const Topology& topology) {
  if (setup.fidelity == Fidelity::Message) return std::make_shared<MessageFabric>(setup, topology);
  return std::make_shared<FluidFabric>(setup, topology);
}

}  // namespace allreplay
