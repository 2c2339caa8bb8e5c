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
    links_.assign(network_->links().begin(), network_->links().end());
    apply(changes);
    require_connected(changes);
    if (broken_) detours_ = std::make_unique<ShortestPaths>(nodes(), links_);
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override {
    const std::size_t before = path.size();
    network_->route(from, to, path);
    if (!broken_) return;
    for (std::size_t i = before; i < path.size(); ++i) {
      if (links_[path[i]].bandwidth > 0) continue;
      path.resize(before);
      detours_->route(from, to, path);
      return;
    }
  }

  // As long as the same routes are the longest and the shortest.
  bool count_all(Census from, Census to, std::span<double> loads, std::vector<HostPair>& ends) const override {
    return !broken_ && !delayed_ && network_->count_all(from, to, loads, ends);
  }

  std::string name(NodeId node) const override { return network_->name(node); }

 private:
  void apply(std::span<const LinkChange> changes) {
    std::unordered_map<std::string, NodeId> node_by_name;
    for (NodeId node = 0; node < nodes(); ++node) node_by_name.emplace(name(node), node);
    std::map<std::pair<NodeId, NodeId>, const LinkChange*> change_of;
    std::set<const LinkChange*> used;
    for (const LinkChange& change : changes) {
      const NodeId a = find(node_by_name, change.a, change, "0"), b = find(node_by_name, change.b, change, "1");
      if (!change_of.emplace(std::minmax(a, b), &change).second)
        throw InputError(change.place, fmt::format("'{}' and '{}' stand here twice", change.a, change.b),
                         "one entry per link");
    }
    for (Link& link : links_) {
      const auto found = change_of.find(std::minmax(link.from, link.to));
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
    for (const Link& link : links_)
      if (link.from == a && ++count <= 4) neighbours += fmt::format("{}'{}'", count > 1 ? ", " : "", name(link.to));
    throw InputError(change.place / "between", fmt::format("no link joins '{}' and '{}'", change.a, change.b),
                     fmt::format("'{}' is linked to {}{}", change.a, neighbours, count > 4 ? ", …" : ""));
  }

  void require_connected(std::span<const LinkChange> changes) const {
    if (!broken_) return;
    const std::vector<int> parts = connected_parts(nodes(), links_);
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
  std::unique_ptr<ShortestPaths> detours_;
  bool broken_ = false;   // any link is down,
  bool delayed_ = false;  // or has another latency
};

}  // namespace

std::unique_ptr<Topology> with_changes(std::unique_ptr<Topology> network, std::span<const LinkChange> changes) {
  return std::make_unique<ChangedLinks>(std::move(network), changes);
}

}  // namespace allreplay
