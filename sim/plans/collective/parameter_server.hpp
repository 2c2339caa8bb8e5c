// Parameter servers with separate channels: dedicated servers, and those that receive sums of nodes (docs/models.md).
#pragma once

#include <vector>

#include "sim/plans/collective/call.hpp"
#include "sim/plans/collective/comm_cost.hpp"
#include "sim/plans/collective/two_level.hpp"

namespace allreplay {

/// One leg of the way to the servers and back.
struct ServerLeg {
  Call call;  ///< among the workers of a node, or between workers and servers
  CommCost cost;
  Channels channels = channel_inside;
};

/// True if a block goes to the servers and back in legs; otherwise it is one operation on one channel.
bool uses_server_legs(const Algorithm& algorithm, const CollectiveOptions& options);

/// The legs in order: two, or four with local sums. Throws InputError if local sums have no nodes, or nodes that are
/// not full, and if nodes have dedicated servers without local sums.
std::vector<ServerLeg> server_legs(const Network& network, const Algorithm& algorithm, std::int64_t workers,
                                   std::int64_t table_workers, const CollectiveOptions& options);

/// The costs with local sums: all legs are the all-reduce, those to the servers and back are its halves.
OpCosts local_ops(const Network& network, const NodeLayout& layout, const CollectiveOptions& options);

}  // namespace allreplay
