// A cluster's network as it might be: faster links, shorter start-ups, larger nodes. What flags such as --bandwidth x4
// make of what the cluster file says.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/cluster/cluster.hpp"

namespace allreplay {

/// A number of times what there is, or a value in its place.
struct Adjustment {
  std::optional<double> factor;
  double value = 0;  ///< bytes per second, or seconds

  double operator()(double now) const { return factor ? *factor * now : value; }
};

enum class Level : std::uint8_t { Outside, Inside };  ///< between nodes (or workers, without nodes); inside a node

// Each throws InputError at `place` where the network does not say what is to change.

/// Of each link of the level: beta, the topology's links, and of what was measured as a whole the part that is neither
/// start-up nor reduction: of b, and of a table's times what exceeds the first.
void change_bandwidth(Network& network, Level level, const Adjustment& change, const SourceLocation& place);

/// The start-up of messages: alpha, a, a table's first time; a factor also changes the latencies of the topology's
/// links and, for `nccl`, NCCL's own.
void change_latency(Network& network, Level level, const Adjustment& change, bool nccl, const SourceLocation& place);

/// How many workers a node has.
void change_node(Network& network, std::int64_t workers, const SourceLocation& place);

/// How many network ports a node has.
void change_rails(Network& network, std::int64_t rails, const SourceLocation& place);

/// Where ranks sit: what a topology's "placement" may be, as one text.
void change_placement(Network& network, std::string_view text, const SourceLocation& place);

/// Which of several ways messages take on a topology.
void change_routing(Network& network, std::string_view text, const SourceLocation& place);

/// How many workers a node has; 1 where there are no nodes.
std::int64_t node_workers_of(const Network& network);

/// Takes the start-up between nodes for what so many workers fill: linear in log(nodes), beyond an end that end's.
void settle_alpha(Network& network, std::int64_t workers);

/// Says so where the start-up was taken from beyond an end; "" elsewhere.
std::string alpha_caveat(const Network& network, std::int64_t workers);

}  // namespace allreplay
