// The bytes of a collective on each link of a topology, and their senders and receivers. Independent of the fidelity.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"
#include "sim/plans/collective/rounds.hpp"

namespace allreplay {

/// Bytes on each link, per byte of the block.
std::vector<double> link_loads(const Rounds& rounds, const Topology& topology);

/// By sender and receiver: the bytes over one link, per byte of the block.
using LinkUsers = std::map<std::pair<Rank, Rank>, double>;

/// The users of each of `links`, in the same order.
std::vector<LinkUsers> link_users(const Rounds& rounds, const Topology& topology, const std::vector<LinkId>& links);

}  // namespace allreplay
