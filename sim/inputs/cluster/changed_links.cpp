#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/inputs/cluster/node_names.hpp"
#include "sim/inputs/cluster/shapes.hpp"
#include "sim/inputs/cluster/shortest_paths.hpp"

namespace allreplay {

namespace {

class ChangedLinks final : public Topology {
 public:
  ChangedLinks(std::shared_ptr<const Topology> network, std::vector<Link> links) : network_(std::move(network)) {
    hosts_ = network_->hosts();
    switches_ = network_->switches();
    gpus_per_host_ = network_->gpus_per_host();
    group_size_ = network_->group_size();
    nics_ = network_->nics();
    planes_ = network_->planes();
    links_ = std::move(links);
    for (LinkId id = 0; id < links_.size(); ++id) {
      broken_ |= links_[id].bandwidth == 0;
      delayed_ |= links_[id].latency != network_->links()[id].latency;
    }
    for (std::uint32_t plane = 0; broken_ && plane < planes_; ++plane) {
      const std::vector<Link> in_plane = links_in(*this, plane);
      detours_.push_back(std::make_unique<ShortestPaths>(nodes(), in_plane));
      if (planes_ > 1) part_of_.push_back(connected_parts(nodes(), in_plane));
    }
    if (broken_ && planes_ > 1) all_planes_ = std::make_unique<ShortestPaths>(nodes(), links_);
  }

  /// The network without changes, which determines the ways while none is down.
  const std::shared_ptr<const Topology>& unchanged() const { return network_; }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override {
    const std::size_t before = path.size();
    network_->route(from, to, path);
    if (!broken_ || is_up(std::span(path).subspan(before))) return;
    path.resize(before);
    detour(from, to, path);
  }

  // The ways that are up; if there are none, the shortest path.
  std::uint64_t way_count(NodeId from, NodeId to) const override {
    return broken_ ? std::max<std::uint64_t>(1, ways_up(from, to).size()) : network_->way_count(from, to);
  }
  void way(NodeId from, NodeId to, std::uint64_t number, std::vector<LinkId>& path) const override {
    if (!broken_) return network_->way(from, to, number, path);
    const std::vector<std::uint64_t> up = ways_up(from, to);
    if (up.empty()) return detour(from, to, path);
    network_->way(from, to, up[number], path);
  }

  // The closed form holds if routes and latencies, and so the longest and shortest routes, are unchanged.
  bool count_all(Census from, Census to, std::span<double> loads, std::vector<HostPair>& ends) const override {
    return !broken_ && !delayed_ && network_->count_all(from, to, loads, ends);
  }

  std::vector<LinkId> tree_above(std::uint32_t tree, std::span<const NodeId> ranks) const override {
    return network_->tree_above(tree, ranks);
  }

  NodeId port(LinkId link) const override { return network_->port(link); }
  std::optional<std::uint32_t> plane_of(LinkId link) const override { return network_->plane_of(link); }
  std::uint32_t plane_to(NodeId rank) const override { return network_->plane_to(rank); }

  std::string name(NodeId node) const override { return network_->name(node); }

 private:
  // Takes the shortest path in the plane or, if it is disconnected there, across planes, which hosts connect.
  void detour(NodeId from, NodeId to, std::vector<LinkId>& path) const {
    const std::uint32_t plane = plane_to(to);
    const bool leaves_plane = all_planes_ && part_of_[plane][from] != part_of_[plane][to];
    (leaves_plane ? *all_planes_ : *detours_[plane]).route(from, to, path);
  }

  bool is_up(std::span<const LinkId> path) const {
    return std::all_of(path.begin(), path.end(), [&](LinkId link) { return links_[link].bandwidth > 0; });
  }

  std::vector<std::uint64_t> ways_up(NodeId from, NodeId to) const {
    constexpr std::uint64_t most = 1 << 16;
    const std::uint64_t ways = network_->way_count(from, to);
    if (ways > most)
      throw InputError(
          routing_.place / "routing",
          fmt::format("there are {} routes from '{}' to '{}' around links that are down", ways, name(from), name(to)),
          fmt::format("at most {}, or d-mod-k", most));
    std::vector<std::uint64_t> up;
    std::vector<LinkId> path;
    for (std::uint64_t number = 0; number < ways; ++number) {
      path.clear();
      network_->way(from, to, number, path);
      if (is_up(path)) up.push_back(number);
    }
    return up;
  }

  std::shared_ptr<const Topology> network_;
  std::vector<std::unique_ptr<ShortestPaths>> detours_;  // by plane
  std::vector<std::vector<int>> part_of_;                // connected component by plane (if there are several) and node
  std::unique_ptr<ShortestPaths> all_planes_;            // over the links of all planes
  bool broken_ = false;                                  // some link is down
  bool delayed_ = false;                                 // some link has another latency
};

// Returns the network's links with the changes applied.
std::vector<Link> changed(const Topology& network, std::span<const LinkChange> changes) {
  const NodeNames names(network);
  std::vector<Link> links(network.links().begin(), network.links().end());
  std::set<LinkId> known;
  for (const LinkChange& change : changes) {
    const SourceLocation place = change.place / "between";
    for (const LinkId id : names.between(change.a, place / "0", change.b, place / "1", place)) {
      if (!known.insert(id).second)
        throw InputError(change.place, fmt::format("the link from '{}' to '{}' is listed twice", change.a, change.b),
                         "one entry per link");
      Link& link = links[id];
      if (change.latency) link.latency = *change.latency;
      if (change.bandwidth) link.bandwidth = *change.bandwidth;
      if (change.down) link.bandwidth = 0;
    }
  }
  return links;
}

}  // namespace

std::vector<Link> links_in(const Topology& network, std::uint32_t plane) {
  std::vector<Link> links(network.links().begin(), network.links().end());
  for (LinkId link = 0; link < links.size(); ++link)
    if (network.plane_of(link).value_or(plane) != plane) links[link].bandwidth = 0;
  return links;
}

Connections::Connections(const Topology& network) : part_of_(connected_parts(network.nodes(), network.links())) {}

std::optional<HostPair> Connections::cut_off(std::span<const NodeId> hosts) const {
  for (const NodeId host : hosts)
    if (part_of_[host] != part_of_[hosts.front()]) return HostPair{hosts.front(), host};
  return std::nullopt;
}

std::unique_ptr<Topology> with_changes(std::unique_ptr<Topology> network, std::span<const LinkChange> changes) {
  std::vector<Link> links = changed(*network, changes);
  auto all = std::make_unique<ChangedLinks>(std::move(network), std::move(links));
  const auto down = std::find_if(changes.begin(), changes.end(), [](const LinkChange& change) { return change.down; });
  if (down == changes.end()) return all;
  std::vector<NodeId> hosts(static_cast<std::size_t>(all->hosts()));
  std::iota(hosts.begin(), hosts.end(), NodeId{0});
  if (const auto pair = Connections(*all).cut_off(hosts))
    throw InputError(down->place,
                     fmt::format("the links that are down disconnect '{}' from '{}'", all->name(pair->second),
                                 all->name(pair->first)),
                     "leave every host a route to all others");
  return all;
}

std::shared_ptr<const Topology> with_links(std::shared_ptr<const Topology> network, std::vector<Link> links) {
  const auto* changed = dynamic_cast<const ChangedLinks*>(network.get());
  auto all = std::make_shared<ChangedLinks>(changed ? changed->unchanged() : network, std::move(links));
  all->set_routing(network->routing());
  return all;
}

}  // namespace allreplay
