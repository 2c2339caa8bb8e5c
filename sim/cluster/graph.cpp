#include "sim/cluster/shapes.hpp"
#include "sim/cluster/shortest_paths.hpp"

namespace allreplay {

namespace {

class Graph final : public Topology {
 public:
  explicit Graph(const TopologySpec& spec) : names_(spec.hosts) {
    names_.insert(names_.end(), spec.switches.begin(), spec.switches.end());
    hosts_ = static_cast<std::int64_t>(spec.hosts.size());
    switches_ = static_cast<std::int64_t>(spec.switches.size());
    for (const GraphLink& link : spec.graph_links) {
      const auto a = static_cast<NodeId>(link.a), b = static_cast<NodeId>(link.b);
      links_.push_back({a, b, link.link.latency, link.link.bandwidth});
      links_.push_back({b, a, link.link.latency, link.link.bandwidth});
    }
    paths_ = std::make_unique<ShortestPaths>(nodes(), links_);
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override { paths_->route(from, to, path); }

  std::string name(NodeId node) const override { return names_[node]; }

 private:
  std::vector<std::string> names_;
  std::unique_ptr<ShortestPaths> paths_;
};

}  // namespace

std::unique_ptr<Topology> make_graph(const TopologySpec& spec) { return std::make_unique<Graph>(spec); }

}  // namespace allreplay
