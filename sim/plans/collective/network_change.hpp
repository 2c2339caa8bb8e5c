// Changes a cluster's network as flags such as --bandwidth x4 ask: faster links, shorter start-ups, larger nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/base/core/named.hpp"
#include "sim/inputs/cluster/cluster.hpp"

namespace allreplay {

/// A factor on the present value, or a new value.
struct Adjustment {
  std::optional<double> factor;
  double value = 0;  ///< bytes per second, or seconds

  double operator()(double now) const { return factor ? *factor * now : value; }
};

enum class Level : std::uint8_t { Outside, Inside };  ///< between nodes (or workers, without nodes); inside a node

// Each throws InputError at `place` if the network does not state the quantity to change.

/// Changes the links of the level: beta, the topology's links, and, in costs measured as a whole, the part that is
/// neither start-up nor reduction: in b, and in what a table's times exceed its first.
void change_bandwidth(Network& network, Level level, const Adjustment& change, const SourceLocation& place);

/// Changes the start-up of messages: alpha, a, a table's first time. A factor also changes the latencies of the
/// topology's links and, for `nccl`, NCCL's latencies.
void change_latency(Network& network, Level level, const Adjustment& change, bool nccl, const SourceLocation& place);

/// Sets the number of workers per node.
void change_node(Network& network, std::int64_t workers, const SourceLocation& place);

/// Sets the number of network ports per node.
void change_rails(Network& network, std::int64_t rails, const SourceLocation& place);

/// Sets the topology's oversubscription, at least 1.
void change_oversubscription(Network& network, double ratio, const SourceLocation& place);

/// Sets the placement of ranks; `text` is a topology's "placement" written as one text.
void change_placement(Network& network, std::string_view text, const SourceLocation& place);

/// Sets the topology's routing.
void change_routing(Network& network, std::string_view text, const SourceLocation& place);

/// Sets the only protocol that NCCL may choose: ll, ll128 or simple, as NCCL_PROTO does.
void change_protocol(Network& network, std::string_view text, const SourceLocation& place);
inline constexpr Word<NcclProtocol> nccl_protocols[] = {
    {NcclProtocol::LL, "ll"}, {NcclProtocol::LL128, "ll128"}, {NcclProtocol::Simple, "simple"}};

/// The bandwidth of a port between nodes, bytes per second; nothing if the network was measured as a whole.
std::optional<double> port_bandwidth(const Network& network);

/// The number of workers per node; 1 if there are no nodes.
std::int64_t node_workers_of(const Network& network);

/// Sets alpha and beta between the nodes that `workers` fill, if the cluster gives them by nodes: interpolated linearly
/// in log(nodes), constant beyond the ends.
void settle_by_nodes(Network& network, std::int64_t workers);

/// A note for each of them for which settle_by_nodes() has used the value of an end; "" if there is none.
std::string by_nodes_caveat(const Network& network, std::int64_t workers);

/// The number of nodes that `workers` fill.
std::int64_t nodes_of(const Network& network, std::int64_t workers);

/// True if the cluster's interference holds only for fewer nodes.
bool exceeds_nodes(const Cluster& cluster, std::int64_t workers);

}  // namespace allreplay
