// Start-ups of messages that differ inside a node and between nodes.
#pragma once

#include <cstdint>

#include "sim/plans/collective/rounds.hpp"

namespace allreplay {

/// The cost of a message in addition to the smaller α of the two levels, in seconds. Nodes are filled in order; without
/// nodes, every message counts as one between nodes. A negative value is the part of a route's latency that another
/// cost already contains: only the latency beyond it counts.
struct LevelAlpha {
  std::int64_t node_workers = 0;  ///< 0: no nodes
  double inside = 0, outside = 0;

  double beyond(Rank from, Rank to) const { return between(from, to) ? outside : inside; }
  /// True if a message goes from one node to another; always true without nodes.
  bool between(Rank from, Rank to) const { return node_workers == 0 || from / node_workers != to / node_workers; }

  bool operator==(const LevelAlpha&) const = default;
};

}  // namespace allreplay
