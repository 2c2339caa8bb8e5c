#include "sim/replay/network/round_traffic.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace allreplay {

TrafficCounter::TrafficCounter(const Rounds& rounds, const Topology& topology, const LevelAlpha& levels)
    : rounds_(rounds),
      topology_(topology),
      levels_(levels),
      routes_(topology.route_count()),
      received_(rounds.ranks),
      sender_(std::size_t{rounds.ranks} * rounds.streams),
      receiver_(sender_.size()),
      latest_sender_(rounds.ranks) {}

const RoundTraffic& TrafficCounter::count(const Round& round) {
  const std::optional<Uniform> before = std::exchange(uniform_, round.uniform);
  if (before && uniform_) {
    scale(*before);
  } else {
    std::vector<double> loads = std::move(traffic_.loads);
    loads.assign(topology_.links().size(), 0);
    traffic_ = {.loads = std::move(loads)};
    std::fill(received_.begin(), received_.end(), 0);
    if (round.in_switches)
      count_switches(*round.in_switches);
    else if (!round.all_pairs || !count_all_pairs(*round.all_pairs))
      count_sends(round);
    traffic_.wall |= round.wall;
    most_received_ = *std::max_element(received_.begin(), received_.end());
  }
  const bool reduces = rounds_.reduction_costs && (!uniform_ || uniform_->reduce);
  traffic_.most_reduced = reduces ? most_received_ : 0;
  return traffic_;
}

// Scales the traffic of the previous round to another number of pieces. All numbers are whole.
void TrafficCounter::scale(const Uniform& before) {
  for (double& load : traffic_.loads)
    load = load / static_cast<double>(before.pieces) * static_cast<double>(uniform_->pieces);
  most_received_ = most_received_ / before.pieces * uniform_->pieces;
}

void TrafficCounter::note_latency(double delay) {
  const double latency = std::max(0.0, delay);
  traffic_.most_latency = std::max(traffic_.most_latency, latency);
  traffic_.least_latency = std::min(traffic_.least_latency, latency);
}

bool TrafficCounter::count_all_pairs(const AllPairs& pairs) {
  // count_all() returns the pairs with extreme latencies, inside machines and between them. They also have the extreme
  // costs if the costs of levels change at the borders of machines, or not at all.
  const bool follows = levels_.inside == levels_.outside || levels_.node_workers == topology_.gpus_per_host();
  if (!follows || topology_.routing().kind != Routing::Kind::ByDestination) return false;
  std::vector<std::int64_t> from(static_cast<std::size_t>(topology_.hosts()), 0), to = from;
  for (const Rank rank : pairs.from) from[rank] = 1;
  for (const Rank rank : pairs.to) to[rank] = 1;
  std::vector<HostPair> ends;
  if (!topology_.count_all(from, to, traffic_.loads, ends)) return false;
  std::vector<LinkId> path;
  for (const auto& [here, there] : ends) {
    double latency = levels_.beyond(here, there);
    path.clear();
    topology_.route(here, there, path);
    for (const LinkId link : path) latency += topology_.links()[link].latency;
    note_latency(latency);
  }
  traffic_.wall = pairs.is_wall();
  const auto senders = static_cast<std::int64_t>(pairs.from.size());
  for (const Rank rank : pairs.to) {
    traffic_.messages += senders - from[rank];
    if (pairs.reduce) received_[rank] = senders - from[rank];
  }
  return true;
}

// Sums go up while copies go down, so both directions of a tree's links carry the same: a GPU's own link its pieces,
// the links above it those of all the host's GPUs on this tree.
void TrafficCounter::count_switches(const InSwitches& switches) {
  const std::int64_t gpus = topology_.gpus_per_host();
  const std::span<const Link> links = topology_.links();
  for (std::uint32_t tree = 0; tree < switches.trees; ++tree) {
    std::vector<NodeId> ranks;
    for (Rank rank = 0; rank < rounds_.ranks; ++rank)
      if (rank % gpus % switches.trees == tree) ranks.push_back(rank);
    const std::int64_t of_host = (gpus - tree + switches.trees - 1) / switches.trees;
    std::unordered_map<NodeId, LinkId> up;
    for (const LinkId link : topology_.tree_above(tree, ranks)) {
      up.emplace(links[link].from, link);
      const bool own = gpus > 1 && links[link].from < topology_.hosts();
      for (const LinkId way : {link, link ^ 1U})
        traffic_.loads[way] += static_cast<double>(switches.pieces * (own ? 1 : of_host));
    }
    for (const NodeId rank : ranks) {
      double latency = levels_.outside;
      for (auto step = up.find(topology_.seat(rank)); step != up.end(); step = up.find(links[step->second].to))
        latency += 2 * links[step->second].latency;
      traffic_.most_latency = std::max(traffic_.most_latency, latency);
    }
  }
  traffic_.least_latency = traffic_.most_latency;
  traffic_.messages = rounds_.ranks;
  traffic_.wall = true;
}

void TrafficCounter::count_sends(const Round& round) {
  std::fill(sender_.begin(), sender_.end(), false);
  std::fill(receiver_.begin(), receiver_.end(), false);
  std::fill(latest_sender_.begin(), latest_sender_.end(), rounds_.ranks);
  bool twice = false;  // a rank sends several messages to another
  std::int64_t senders = 0, receivers = 0, both = 0;
  for (Rank rank = 0; rank < rounds_.ranks; ++rank) {
    sends_.clear();
    round.sends(rank, 0, sends_);
    for (const Send& send : sends_) {
      note_latency(routes_->add(rank, send.to, send.stream, send.count, levels_.beyond(rank, send.to)));
      if (send.reduce || uniform_) received_[send.to] += send.count;
      sender_[rank * rounds_.streams + send.stream] = receiver_[send.to * rounds_.streams + send.into] = true;
      receivers += latest_sender_[send.to] == rounds_.ranks ? 1 : 0;
      twice |= latest_sender_[send.to] == rank;
      latest_sender_[send.to] = rank;
    }
    senders += sends_.empty() ? 0 : 1;
    traffic_.messages += static_cast<std::int64_t>(sends_.size());
  }
  routes_->take(traffic_.loads);
  const auto all = [](const std::vector<bool>& slots) {
    return std::find(slots.begin(), slots.end(), false) == slots.end();
  };
  traffic_.everybody = all(sender_) && all(receiver_);
  for (Rank rank = 0; rank < rounds_.ranks; ++rank) {
    const auto first = sender_.begin() + std::size_t{rank} * rounds_.streams;
    const bool sends = std::find(first, first + rounds_.streams, true) != first + rounds_.streams;
    both += sends && latest_sender_[rank] != rounds_.ranks ? 1 : 0;
  }
  const bool each_to_each = !twice && traffic_.messages == senders * receivers - both;
  traffic_.wall = each_to_each && traffic_.messages > std::max(senders, receivers);
}

std::vector<Hop> TrafficCounter::hops(const Round& round, std::span<const double> busy) {
  std::vector<Hop> hops;
  hops.reserve(static_cast<std::size_t>(traffic_.messages));
  routes_->weigh(busy);
  for (Rank rank = 0; rank < rounds_.ranks; ++rank) {
    sends_.clear();
    round.sends(rank, 0, sends_);
    for (const Send& send : sends_)
      hops.push_back(
          {.from = rank * rounds_.streams + send.stream,
           .into = send.to * rounds_.streams + send.into,
           .channel = send.channel,
           .latency = std::max(0.0, routes_->add(rank, send.to, send.stream, 0, levels_.beyond(rank, send.to))),
           .busy = routes_->most(rank, send.to, send.stream)});
  }
  return hops;
}

}  // namespace allreplay
