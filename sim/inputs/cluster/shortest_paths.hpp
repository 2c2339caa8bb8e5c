// Shortest paths by latency, then by number of links, for networks without a routing rule.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"

namespace allreplay {

/// Divides equally short paths among destinations: if c links of a node lead on, destination d takes number d mod c, in
/// the order of links. Latencies are compared in whole picoseconds. Links of bandwidth 0 are left out.
class ShortestPaths {
 public:
  ShortestPaths(std::int64_t nodes, std::span<const Link> links);
  ~ShortestPaths();

  /// Appends the links of the path. REQUIRES: the two nodes are connected.
  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const;

  /// way_count(): the number of shortest paths, at most 2^63. way() appends one, numbered by the order of the links.
  std::uint64_t way_count(NodeId from, NodeId to) const;
  void way(NodeId from, NodeId to, std::uint64_t number, std::vector<LinkId>& path) const;

  /// Returns, by node, the next link on the route to `to`; undefined at `to` itself and at unconnected nodes.
  std::vector<LinkId> ways_to(NodeId to) const;

 private:
  struct Distance {
    std::int64_t latency;  // picoseconds
    std::uint32_t links;
    auto operator<=>(const Distance&) const = default;
  };
  using Distances = std::vector<Distance>;  // from each node to a fixed one, by node
  struct Graph;

  using Counts = std::vector<std::uint64_t>;  // number of shortest paths from each node to a fixed one, by node
  bool on_the_way(const Distances& distances, NodeId at, LinkId link) const;
  NodeId goal_of(NodeId to) const;
  std::shared_ptr<const Counts> counts_to(NodeId node) const;
  std::shared_ptr<const Distances> distances_to(NodeId node) const;
  Distances compute(NodeId to) const;
  LinkId way(const Distances& distances, NodeId at, NodeId to) const;
  std::span<const LinkId> out(NodeId node) const {
    return {out_.data() + first_[node], out_.data() + first_[node + 1]};
  }

  std::int64_t nodes_;
  std::vector<NodeId> to_;             // by link
  std::vector<std::int64_t> latency_;  // by link, picoseconds
  std::vector<std::uint32_t> first_;   // by node: its first link in out_
  std::vector<LinkId> out_;
  std::unique_ptr<Graph> graph_;

  // Distances are computed when first needed. Large networks have too many to keep: the oldest are dropped.
  mutable std::mutex mutex_;
  mutable std::unordered_map<NodeId, std::shared_ptr<const Distances>> known_;
  mutable std::deque<NodeId> order_;
  mutable std::unordered_map<NodeId, std::shared_ptr<const Counts>> known_counts_;
};

/// By node, the number of its connected component over links that are up, from 0 on.
std::vector<int> connected_parts(std::int64_t nodes, std::span<const Link> links);

}  // namespace allreplay
