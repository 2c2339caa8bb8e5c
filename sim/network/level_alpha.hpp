// Start-ups of messages where those inside a node and those to another cost differently.
#pragma once

#include <cstdint>

#include "sim/collective/rounds.hpp"

namespace allreplay {

/// The cost of a message in addition to the smaller α of the two levels, in seconds. Nodes are filled in order; without nodes, every
/// message goes from one to another. Below zero: so much of its route's latency is part of another cost, and only what
/// the route takes beyond that counts.
struct LevelAlpha {
  std::int64_t node_workers = 0;  ///< 0: no nodes
  double inside = 0, outside = 0;

  double beyond(Rank from, Rank to) const { return between(from, to) ? outside : inside; }
  /// Whether from one node to another. Without nodes: from anybody to anybody.
  bool between(Rank from, Rank to) const { return node_workers == 0 || from / node_workers != to / node_workers; }
};

}  // namespace allreplay
