#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/cluster/shapes.hpp"
#include "sim/cluster/shortest_paths.hpp"

namespace allreplay {

namespace {

class ChangedLinks final : public Topology {
 public:
  ChangedLinks(std::unique_ptr<Topology> network, std::span<const LinkChange> changes) : network_(std::move(network)) {
    hosts_ = network_->hosts();
    switches_ = network_->switches();
    gpus_per_host_ = network_->gpus_per_host();
    group_size_ = network_->group_size();
    nics_ = network_->nics();
    planes_ = network_->planes();
    links_.assign(network_->links().begin(), network_->links().end());
    apply(changes);
    for (std::uint32_t plane = 0; broken_ && plane < planes_; ++plane) {
      const std::vector<Link> links = links_in(plane);
      require_connected(links, changes);
      detours_.push_back(std::make_unique<ShortestPaths>(nodes(), links));
    }
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override {
    const std::size_t before = path.size();
    network_->route(from, to, path);
    if (!broken_ || is_up(std::span(path).subspan(before))) return;
    path.resize(before);
    detours_[plane_to(to)]->route(from, to, path);
  }

  // Those that are up; where none is, the shortest path.
  std::uint64_t way_count(NodeId from, NodeId to) const override {
    return broken_ ? std::max<std::uint64_t>(1, ways_up(from, to).size()) : network_->way_count(from, to);
  }
  void way(NodeId from, NodeId to, std::uint64_t number, std::vector<LinkId>& path) const override {
    if (!broken_) return network_->way(from, to, number, path);
    const std::vector<std::uint64_t> up = ways_up(from, to);
    if (up.empty()) return detours_[plane_to(to)]->route(from, to, path);
    network_->way(from, to, up[number], path);
  }

  // As long as the same routes are the longest and the shortest.
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
  bool is_up(std::span<const LinkId> path) const {
    return std::all_of(path.begin(), path.end(), [&](LinkId link) { return links_[link].bandwidth > 0; });
  }

  std::vector<std::uint64_t> ways_up(NodeId from, NodeId to) const {
    constexpr std::uint64_t most = 1 << 16;
    const std::uint64_t ways = network_->way_count(from, to);
    if (ways > most)
      throw InputError(
          routing_.place / "routing",
          fmt::format("{} ways lead from '{}' to '{}', past links that are down", ways, name(from), name(to)),
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

  // With those of other planes down.
  std::vector<Link> links_in(std::uint32_t plane) const {
    std::vector<Link> links = links_;
    for (LinkId link = 0; link < links.size(); ++link)
      if (plane_of(link).value_or(plane) != plane) links[link].bandwidth = 0;
    return links;
  }

  void apply(std::span<const LinkChange> changes) {
    std::unordered_map<std::string, NodeId> node_by_name;
    const auto ends = static_cast<NodeId>(nodes() + machines() * nics_);  // with the NICs behind the nodes
    for (NodeId node = 0; node < ends; ++node) node_by_name.emplace(name(node), node);
    std::map<std::pair<NodeId, NodeId>, const LinkChange*> change_of;
    std::set<const LinkChange*> used;
    for (const LinkChange& change : changes) {
      const NodeId a = find(node_by_name, change.a, change, "0"), b = find(node_by_name, change.b, change, "1");
      if (!change_of.emplace(std::minmax(a, b), &change).second)
        throw InputError(change.place, fmt::format("'{}' and '{}' stand here twice", change.a, change.b),
                         "one entry per link");
    }
    for (LinkId id = 0; id < links_.size(); ++id) {
      Link& link = links_[id];
      const auto found =
          change_of.find(std::pair(std::min(port(id), port(id ^ 1U)), std::max(port(id), port(id ^ 1U))));
      if (found == change_of.end()) continue;
      const LinkChange& change = *found->second;
      used.insert(&change);
      if (change.latency) link.latency = *change.latency;
      delayed_ |= change.latency.has_value();
      if (change.bandwidth) link.bandwidth = *change.bandwidth;
      if (change.down) link.bandwidth = 0;
      broken_ |= change.down;
    }
    for (const LinkChange& change : changes)
      if (!used.contains(&change)) no_link(node_by_name.at(change.a), change);
  }

  NodeId find(const std::unordered_map<std::string, NodeId>& nodes_by_name, const std::string& wanted,
              const LinkChange& change, std::string_view index) const {
    const auto found = nodes_by_name.find(wanted);
    if (found != nodes_by_name.end()) return found->second;
    const NodeId some[] = {0, static_cast<NodeId>(hosts_ - 1), static_cast<NodeId>(hosts_),
                           static_cast<NodeId>(nodes() - 1)};
    std::set<std::string> examples;
    for (const NodeId node : some)
      if (node < nodes()) examples.insert("'" + name(node) + "'");
    std::string known;
    for (const std::string& example : examples) known += (known.empty() ? "" : ", ") + example;
    throw InputError(change.place / "between" / index, fmt::format("there is no node '{}'", wanted),
                     fmt::format("names are like {}", known));
  }

  [[noreturn]] void no_link(NodeId a, const LinkChange& change) const {
    std::string neighbours;
    int count = 0;
    for (LinkId id = 0; id < links_.size(); ++id) {
      const NodeId here = port(id), there = port(id ^ 1U);
      const bool host = links_[id].from == a;  // of several NICs: it tells their names
      if ((here == a || host) && ++count <= 4)
        neighbours += fmt::format("{}'{}'", count > 1 ? ", " : "", name(here == a ? there : here));
    }
    throw InputError(change.place / "between", fmt::format("no link joins '{}' and '{}'", change.a, change.b),
                     fmt::format("'{}' is linked to {}{}", change.a, neighbours, count > 4 ? ", …" : ""));
  }

  void require_connected(const std::vector<Link>& links, std::span<const LinkChange> changes) const {
    const std::vector<int> parts = connected_parts(nodes(), links);
    for (NodeId host = 0; host < hosts_; ++host) {
      if (parts[host] == parts[0]) continue;
      for (const LinkChange& change : changes)
        if (change.down)
          throw InputError(change.place,
                           fmt::format("the links that are down cut '{}' off from '{}'", name(host), name(0)),
                           "leave every host a way to all others");
    }
  }

  std::unique_ptr<Topology> network_;
  std::vector<std::unique_ptr<ShortestPaths>> detours_;  // by plane
  bool broken_ = false;                                  // any link is down,
  bool delayed_ = false;                                 // or has another latency
};

}  // namespace

std::unique_ptr<Topology> with_changes(std::unique_ptr<Topology> network, std::span<const LinkChange> changes) {
  return std::make_unique<ChangedLinks>(std::move(network), changes);
}

}  // namespace allreplay
