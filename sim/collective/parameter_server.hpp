// Parameter servers whose pushes and pulls travel on channels of their own: on hosts of their own, or behind sums
// inside the nodes (docs/models.md).
#pragma once

#include <vector>

#include "sim/collective/comm_cost.hpp"
#include "sim/collective/two_level.hpp"

namespace allreplay {

/// One leg of the way to the servers and back.
struct ServerLeg {
  Call call;  ///< on Axis::Node or Axis::Servers
  CommCost cost;
  Channels channels = channel_inside;
};

/// Whether a block goes to the servers and back in legs; else in one stage on one channel.
bool goes_in_legs(const Algorithm& algorithm, const CollectiveOptions& options);

/// In their order: two, or with local sums four. Throws InputError where the network has no such servers: no nodes to
/// sum in, or servers of whole nodes without sums in them.
std::vector<ServerLeg> server_legs(const Network& network, const Algorithm& algorithm, std::int64_t workers,
                                   std::int64_t table_workers, const CollectiveOptions& options);

/// What the legs make of each stage: all; as a reduce-scatter those there; as an all-gather those back.
StageCosts local_stages(const Network& network, const NodeLayout& layout, const CollectiveOptions& options);

}  // namespace allreplay
