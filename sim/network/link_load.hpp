// What each link of a topology carries of a collective, whatever the fidelity: how many bytes, and whose.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/collective/rounds.hpp"

namespace allreplay {

/// Bytes on each link, per byte of the block.
std::vector<double> link_loads(const Rounds& rounds, const Topology& topology);

/// From rank to rank, bytes per byte of the block over one link.
using LinkUsers = std::map<std::pair<Rank, Rank>, double>;

/// Of those links alone, in their order.
std::vector<LinkUsers> link_users(const Rounds& rounds, const Topology& topology, const std::vector<LinkId>& links);

}  // namespace allreplay
