#include <set>

#include <fmt/format.h>

#include "sim/inputs/cluster/shapes.hpp"

namespace allreplay {

namespace {

// With h = k/2: N = k·h² hosts; switches are the k·h edges, then the k·h aggregations, then the h² cores. Links are
// three layers of N, each in both directions: host x to its edge; edge e to the a-th aggregation of its pod (number e·h
// + a); aggregation g to its c-th core (g·h + c), which is core a·h + c for the a-th aggregation of any pod.
class FatTree final : public Topology {
 public:
  FatTree(std::int64_t ports, double oversubscription, const LinkSpec& link)
      : half_(static_cast<std::uint32_t>(ports / 2)) {
    const auto pods = static_cast<std::uint32_t>(ports), cables = pods * half_ * half_;
    hosts_ = cables;
    switches_ = 5 * ports * ports / 4;
    group_size_ = half_;
    aggregation_ = 2 * cables;
    core_ = 4 * cables;
    const NodeId edges = cables, aggregations = edges + pods * half_, cores = aggregations + pods * half_;
    const LinkSpec up{link.latency, link.bandwidth / oversubscription};
    links_.reserve(std::size_t{6} * cables);
    for (std::uint32_t host = 0; host < cables; ++host) add_link(host, edges + host / half_, link);
    for (std::uint32_t i = 0; i < cables; ++i) {
      const std::uint32_t edge = i / half_, pod = edge / half_;
      add_link(edges + edge, aggregations + pod * half_ + i % half_, up);
    }
    for (std::uint32_t i = 0; i < cables; ++i) {
      const std::uint32_t aggregation = i / half_;
      add_link(aggregations + aggregation, cores + aggregation % half_ * half_ + i % half_, link);
    }
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override {
    const std::uint32_t a = to % half_, c = to / half_ % half_;
    way(from, to, in_one_pod(from, to) ? a : a * half_ + c, path);
  }
  std::uint64_t way_count(NodeId from, NodeId to) const override {
    if (from / half_ == to / half_) return 1;
    return in_one_pod(from, to) ? half_ : std::uint64_t{half_} * half_;
  }
  void way(NodeId from, NodeId to, std::uint64_t number, std::vector<LinkId>& path) const override {
    if (from == to) return;
    const std::uint32_t edge_from = from / half_, edge_to = to / half_;
    path.push_back(2 * from);
    if (edge_from != edge_to) {
      const std::uint32_t pod_from = edge_from / half_, pod_to = edge_to / half_;
      const auto up = static_cast<std::uint32_t>(number);
      const std::uint32_t a = pod_from == pod_to ? up : up / half_, c = up % half_;
      path.push_back(aggregation_ + 2 * (edge_from * half_ + a));
      if (pod_from != pod_to) {
        path.push_back(core_ + 2 * ((pod_from * half_ + a) * half_ + c));
        path.push_back(core_ + 2 * ((pod_to * half_ + a) * half_ + c) + 1);
      }
      path.push_back(aggregation_ + 2 * (edge_to * half_ + a) + 1);
    }
    path.push_back(2 * to + 1);
  }

  bool count_all(Census from, Census to, std::span<double> loads, std::vector<HostPair>& ends) const override {
    const std::uint32_t pod_hosts = half_ * half_;
    count_at_ends(from, to, 0, loads);
    const std::int64_t senders = everybody(from);
    const std::vector<std::int64_t> edge = by_block(from, half_), pod = by_block(from, pod_hosts);
    std::vector<std::int64_t> above(half_, 0), through(pod_hosts, 0);  // receivers by aggregation, and by core
    for (NodeId host = 0; host < hosts_; ++host) {
      above[host % half_] += to[host];
      through[host % pod_hosts] += to[host];
    }
    const auto add_routes = [&](LinkId link, std::int64_t routes) { loads[link] += static_cast<double>(routes); };
    for (NodeId host = 0; host < hosts_; ++host) {
      // `host` also numbers the link of edge e to aggregation a of pod p, and of that to its core e mod half.
      const std::uint32_t e = host / half_, a = host % half_, p = host / pod_hosts;
      const LinkId core = core_ + 2 * ((p * half_ + a) * half_ + e % half_);
      add_routes(aggregation_ + 2 * host, edge[e] * (above[a] - to[host]));
      add_routes(aggregation_ + 2 * host + 1, to[host] * (senders - edge[e]));
      add_routes(core, pod[p] * (through[host % pod_hosts] - to[host]));
      add_routes(core + 1, to[host] * (senders - pod[p]));
    }
    for (const auto& pair : {apart_within(from, to, half_, 1), apart_within(from, to, pod_hosts, half_),
                             apart_in_blocks(from, to, pod_hosts)})
      if (pair) ends.push_back(*pair);
    return true;
  }

  // The root is the common edge, else aggregation a = tree mod k/2 of the pod, else core ⌊tree/(k/2)⌋ mod k/2 above a.
  std::vector<LinkId> tree_above(std::uint32_t tree, std::span<const NodeId> ranks) const override {
    std::vector<LinkId> up;
    std::set<std::uint32_t> edges, pods;
    for (const NodeId host : ranks) {
      up.push_back(2 * host);
      edges.insert(host / half_);
      pods.insert(host / half_ / half_);
    }
    const std::uint32_t a = tree % half_, c = tree / half_ % half_;
    if (edges.size() > 1)
      for (const std::uint32_t edge : edges) up.push_back(aggregation_ + 2 * (edge * half_ + a));
    if (pods.size() > 1)
      for (const std::uint32_t pod : pods) up.push_back(core_ + 2 * ((pod * half_ + a) * half_ + c));
    return up;
  }

  std::string name(NodeId node) const override {
    if (node < hosts_) return fmt::format("h{}", node);
    const std::uint32_t index = node - static_cast<NodeId>(hosts_), layer = 2 * half_ * half_;
    if (index < layer) return fmt::format("edge{}", index);
    if (index < 2 * layer) return fmt::format("agg{}", index - layer);
    return fmt::format("core{}", index - 2 * layer);
  }

 private:
  bool in_one_pod(NodeId from, NodeId to) const { return from / half_ / half_ == to / half_ / half_; }

  std::uint32_t half_;
  LinkId aggregation_ = 0;  // the first link from edge to aggregation
  LinkId core_ = 0;         // the first link from aggregation to core
};

}  // namespace

std::unique_ptr<Topology> make_fat_tree(std::int64_t ports, double oversubscription, const LinkSpec& link) {
  return std::make_unique<FatTree>(ports, oversubscription, link);
}

}  // namespace allreplay
