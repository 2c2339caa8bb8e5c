// Parameter servers whose pushes and pulls use channels of their own: dedicated servers, and servers that receive sums
// made inside the nodes (docs/models.md).
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

/// True if a block goes to the servers and back in legs; otherwise it is one operation on one channel.
bool goes_in_legs(const Algorithm& algorithm, const CollectiveOptions& options);

/// The legs in order: two, or four with local sums. Throws InputError if local sums have no nodes, or nodes that are
/// not full, and if nodes have dedicated servers without local sums.
std::vector<ServerLeg> server_legs(const Network& network, const Algorithm& algorithm, std::int64_t workers,
                                   std::int64_t table_workers, const CollectiveOptions& options);

/// The costs with local sums: of all legs as an all-reduce, of those to the servers as a reduce-scatter, and of those
/// back as an all-gather.
OpCosts local_ops(const Network& network, const NodeLayout& layout, const CollectiveOptions& options);

}  // namespace allreplay
