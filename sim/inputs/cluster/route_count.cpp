#include <algorithm>
#include <numeric>

#include "sim/inputs/cluster/shapes.hpp"

namespace allreplay {

namespace {

class Walked final : public RouteCount {
 public:
  explicit Walked(const Topology& topology)
      : RouteCount(topology), links_(topology.links()), loads_(links_.size(), 0) {}

  double add(NodeId from, NodeId to, std::uint32_t stream, std::int64_t times, double latency) override {
    if (topology_.routing().kind != Routing::Kind::ByDestination) {
      shares_.clear();
      latency = topology_.shares(from, to, stream, latency, shares_);
      for (const auto& [link, share] : shares_) loads_[link] += share * static_cast<double>(times);
      return latency;
    }
    path_.clear();
    topology_.route(from, to, path_);
    for (const LinkId link : path_) {
      latency += links_[link].latency;
      loads_[link] += static_cast<double>(times);
    }
    return latency;
  }
  void take(std::span<double> loads) override {
    for (LinkId link = 0; link < loads_.size(); ++link) loads[link] += loads_[link];
    std::fill(loads_.begin(), loads_.end(), 0.0);
  }

 private:
  std::span<const Link> links_;
  std::vector<double> loads_;  // whole numbers if messages have one way: exact in any order
};

}  // namespace

double RouteCount::most(NodeId from, NodeId to, std::uint32_t stream) {
  double most = 0;
  if (topology_.routing().kind != Routing::Kind::ByDestination) {
    shares_.clear();
    topology_.shares(from, to, stream, 0, shares_);
    for (const LinkShare& one : shares_) most = std::max(most, weights_[one.link]);
    return most;
  }
  path_.clear();
  topology_.route(from, to, path_);
  for (const LinkId link : path_) most = std::max(most, weights_[link]);
  return most;
}

std::unique_ptr<RouteCount> Topology::route_count() const { return std::make_unique<Walked>(*this); }

std::int64_t everybody(Census hosts) { return std::accumulate(hosts.begin(), hosts.end(), std::int64_t{0}); }

std::vector<std::int64_t> by_block(Census hosts, std::size_t block) {
  std::vector<std::int64_t> sums(hosts.size() / block, 0);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = everybody(hosts.subspan(i * block, block));
  return sums;
}

void count_at_ends(Census from, Census to, LinkId first, std::span<double> loads) {
  const std::int64_t senders = everybody(from), receivers = everybody(to);
  for (std::size_t host = 0; host < from.size(); ++host) {
    loads[first + 2 * host] += static_cast<double>(from[host] * (receivers - to[host]));
    loads[first + 2 * host + 1] += static_cast<double>(to[host] * (senders - from[host]));
  }
}

std::optional<HostPair> apart(Census from, Census to) {
  const auto somebody = [](std::int64_t count) { return count > 0; };
  const auto number = [](Census hosts, auto place) { return static_cast<NodeId>(place - hosts.begin()); };
  const auto first = std::find_if(from.begin(), from.end(), somebody);
  if (first == from.end()) return std::nullopt;
  const NodeId here = number(from, first);
  for (NodeId there = 0; there < to.size(); ++there)
    if (there != here && to[there] > 0) return HostPair{here, there};
  const auto other = std::find_if(first + 1, from.end(), somebody);
  if (other == from.end() || to[here] == 0) return std::nullopt;
  return HostPair{number(from, other), here};
}

std::optional<HostPair> apart_in_blocks(Census from, Census to, std::size_t block) {
  const auto blocks = apart(by_block(from, block), by_block(to, block));
  if (!blocks) return std::nullopt;
  const auto first_in = [&](Census hosts, NodeId number) {
    auto host = static_cast<NodeId>(number * block);
    while (hosts[host] == 0) ++host;
    return host;
  };
  return HostPair{first_in(from, blocks->first), first_in(to, blocks->second)};
}

std::optional<HostPair> apart_within(Census from, Census to, std::size_t block, std::size_t inner) {
  for (std::size_t first = 0; first < from.size(); first += block)
    if (auto pair = apart_in_blocks(from.subspan(first, block), to.subspan(first, block), inner))
      return HostPair{pair->first + first, pair->second + first};
  return std::nullopt;
}

}  // namespace allreplay
