// Sums over senders and receivers, for the closed forms of Topology::count_all.
#pragma once

#include <numeric>
#include <optional>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"

namespace allreplay {

std::int64_t everybody(Census hosts);

/// The sums of each `block` consecutive hosts.
std::vector<std::int64_t> by_block(Census hosts, std::size_t block);

/// Finds a member of `from` and a member of `to` on different hosts.
std::optional<HostPair> apart(Census from, Census to);

/// The same in different blocks of `block` hosts.
std::optional<HostPair> apart_in_blocks(Census from, Census to, std::size_t block);

/// The same in one block of `block` hosts, but in different blocks of `inner`.
std::optional<HostPair> apart_within(Census from, Census to, std::size_t block, std::size_t inner);

}  // namespace allreplay
