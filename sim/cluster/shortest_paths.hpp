// Shortest paths where no rule says the way: by latency, then number of links.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/cluster/topology.hpp"

namespace allreplay {

/// Which of the equally short paths: at every node the ways on are counted in the order of their links, and destination
/// d takes number d modulo their count, so that the destinations share them. Latencies count in whole picoseconds, so
/// that equal is equal. Links of bandwidth 0 are left out.
class ShortestPaths {
 public:
  ShortestPaths(std::int64_t nodes, std::span<const Link> links);
  ~ShortestPaths();

  /// Appends the links. REQUIRES: the two are connected.
  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const;

  /// How many shortest paths there are, at most 2^63; and one of them, counted by its links as they are listed, the
  /// sender's first.
  std::uint64_t way_count(NodeId from, NodeId to) const;
  void way(NodeId from, NodeId to, std::uint64_t number, std::vector<LinkId>& path) const;

  /// The same routes to one host, from every node that leads there: by node, the link that they take; at `to` itself,
  /// and where no way leads there, anything.
  std::vector<LinkId> ways_to(NodeId to) const;

 private:
  struct Distance {
    std::int64_t latency;  // picoseconds
    std::uint32_t links;
    auto operator<=>(const Distance&) const = default;
  };
  using Distances = std::vector<Distance>;  // to one node, from each
  struct Graph;

  using Counts = std::vector<std::uint64_t>;  // of ways to one node, from each
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
  std::vector<std::uint32_t> first_;   // by node: where its links begin in out_
  std::vector<LinkId> out_;
  std::unique_ptr<Graph> graph_;

  // Distances are computed when first asked for. All of them together would not fit for large networks, so the oldest
  // make room.
  mutable std::mutex mutex_;
  mutable std::unordered_map<NodeId, std::shared_ptr<const Distances>> known_;
  mutable std::deque<NodeId> order_;
  mutable std::unordered_map<NodeId, std::shared_ptr<const Counts>> known_counts_;
};

/// For each node, the number of its connected part (by links that are up), counted from 0.
std::vector<int> connected_parts(std::int64_t nodes, std::span<const Link> links);

}  // namespace allreplay
