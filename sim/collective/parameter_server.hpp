// Parameter servers whose pushes and pulls travel on channels of their own: on hosts of their own, or behind sums
// inside the nodes (docs/models.md).
#pragma once

#include <vector>

#include "sim/collective/call.hpp"
#include "sim/collective/comm_cost.hpp"
#include "sim/collective/two_level.hpp"

namespace allreplay {

/// One leg of the way to the servers and back.
struct ServerLeg {
  Call call;  ///< among the workers of a node, or between workers and servers
  CommCost cost;
  Channels channels = channel_inside;
};

/// Whether a block goes to the servers and back in legs; else in one op on one channel.
bool goes_in_legs(const Algorithm& algorithm, const CollectiveOptions& options);

/// In their order: two, or with local sums four. Throws InputError where the network has no such servers: no nodes to
/// sum in, or servers of whole nodes without sums in them.
std::vector<ServerLeg> server_legs(const Network& network, const Algorithm& algorithm, std::int64_t workers,
                                   std::int64_t table_workers, const CollectiveOptions& options);

/// What the legs make of an all-reduce and its halves: all; as a reduce-scatter those there; as an all-gather those
/// back.
OpCosts local_ops(const Network& network, const NodeLayout& layout, const CollectiveOptions& options);

}  // namespace allreplay
