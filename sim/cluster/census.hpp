// Sums over many routes at once: what the closed forms of Topology::count_all share.
#pragma once

#include <numeric>
#include <optional>
#include <vector>

#include "sim/cluster/topology.hpp"

namespace allreplay {

std::int64_t everybody(Census hosts);

/// Of each run of so many hosts.
std::vector<std::int64_t> by_block(Census hosts, std::size_t block);

/// Somebody of `from` and somebody of `to` on two hosts, if there are any.
std::optional<HostPair> apart(Census from, Census to);

/// In two runs of so many hosts.
std::optional<HostPair> apart_in_blocks(Census from, Census to, std::size_t block);

/// In one run of `block` hosts, and there in two of `inner`.
std::optional<HostPair> apart_within(Census from, Census to, std::size_t block, std::size_t inner);

}  // namespace allreplay
