#include <algorithm>
#include <limits>

#include "sim/inputs/cluster/shapes.hpp"
#include "sim/inputs/cluster/shortest_paths.hpp"

namespace allreplay {

namespace {

class Graph final : public Topology {
 public:
  explicit Graph(const TopologySpec& spec) : names_(spec.hosts) {
    names_.insert(names_.end(), spec.switches.begin(), spec.switches.end());
    hosts_ = static_cast<std::int64_t>(spec.hosts.size());
    switches_ = static_cast<std::int64_t>(spec.switches.size());
    for (const GraphLink& one : spec.graph_links)
      add_link(static_cast<NodeId>(one.a), static_cast<NodeId>(one.b), one.link);
    paths_ = std::make_unique<ShortestPaths>(nodes(), links_);
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override { paths_->route(from, to, path); }

  std::uint64_t way_count(NodeId from, NodeId to) const override { return paths_->way_count(from, to); }
  void way(NodeId from, NodeId to, std::uint64_t number, std::vector<LinkId>& path) const override {
    paths_->way(from, to, number, path);
  }

  // Walks the routes to each receiver. Latencies are added from the sender on, to round as elsewhere.
  bool count_all(Census from, Census to, std::span<double> loads, std::vector<HostPair>& ends) const override {
    double most = -1, least = std::numeric_limits<double>::infinity();
    HostPair farthest, nearest;
    for (NodeId receiver = 0; receiver < hosts_; ++receiver) {
      if (to[receiver] == 0) continue;
      const std::vector<LinkId> ways = paths_->ways_to(receiver);
      for (NodeId sender = 0; sender < hosts_; ++sender) {
        if (from[sender] == 0 || sender == receiver) continue;
        const auto routes = static_cast<double>(from[sender] * to[receiver]);
        double latency = 0;
        for (NodeId at = sender; at != receiver; at = links_[ways[at]].to) {
          loads[ways[at]] += routes;
          latency += links_[ways[at]].latency;
        }
        if (latency > most) farthest = {sender, receiver};
        if (latency < least) nearest = {sender, receiver};
        most = std::max(most, latency);
        least = std::min(least, latency);
      }
    }
    if (most >= 0) ends.insert(ends.end(), {farthest, nearest});
    return true;
  }

  std::string name(NodeId node) const override { return names_[node]; }

 private:
  std::vector<std::string> names_;
  std::unique_ptr<ShortestPaths> paths_;
};

}  // namespace

std::unique_ptr<Topology> make_graph(const TopologySpec& spec) { return std::make_unique<Graph>(spec); }

}  // namespace allreplay
