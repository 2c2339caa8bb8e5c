// Finds nodes and links by the names that files use.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"

namespace allreplay {

/// REQUIRES: the network outlives it.
class NodeNames {
 public:
  explicit NodeNames(const Topology& network);

  /// Finds a node or a NIC. Throws InputError if there is none of that name.
  NodeId node(const std::string& name, const SourceLocation& place) const;

  /// Returns both directions of all links between two nodes. `at_a`, `at_b`: where the names are given; `place`: where
  /// the pair is. Throws InputError if there is no link.
  const std::vector<LinkId>& between(const std::string& a, const SourceLocation& at_a, const std::string& b,
                                     const SourceLocation& at_b, const SourceLocation& place) const;

 private:
  [[noreturn]] void no_link(NodeId a, const std::string& a_name, const std::string& b_name,
                            const SourceLocation& place) const;

  const Topology& network_;
  std::unordered_map<std::string, NodeId> node_called_;
  std::map<std::pair<NodeId, NodeId>, std::vector<LinkId>> links_;  // by the two ports, the lower first
};

}  // namespace allreplay
