// One function per kind of topology: hosts, switches, links and the routing rule, all in perfect order. What a file
// says on top (several GPUs per host, links that changed or failed) is put around them: see make_topology.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/cluster/topology_spec.hpp"

namespace allreplay {

// REQUIRES, of each: hosts and links counted by the caller and found acceptable.

std::unique_ptr<Topology> make_star(std::int64_t hosts, const LinkSpec& link);

/// Also the ring: a torus of one dimension. Host (x₀, x₁, …) has number (x₀·d₁ + x₁)·d₂ + …; a dimension of two is one
/// link, not two. Routes correct x₀ first, each dimension the shorter way round, upwards when both are equal.
std::unique_ptr<Topology> make_torus(std::span<const std::int64_t> dimensions, const LinkSpec& link);

/// Tree 1 is heap-ordered (the parent of i is (i − 1)/2), tree 2 its mirror (rank r stands where N − 1 − r does). A
/// route stays in one tree: the one in which it is shorter, tree 1 when both are equal.
std::unique_ptr<Topology> make_double_binary_tree(std::int64_t hosts, const LinkSpec& link);

/// k-port switches (Al-Fares et al. 2008): k pods of k/2 edge and k/2 aggregation switches, (k/2)² cores. Up-down
/// routing; the way up is chosen by the destination d: aggregation switch d mod k/2, its core d/(k/2) mod k/2.
std::unique_ptr<Topology> make_fat_tree(std::int64_t ports, double oversubscription, const LinkSpec& link);

/// Every leaf is linked to every spine, each time with an equal share of its hosts' bandwidth / oversubscription. A
/// message to host d of another leaf goes over spine d mod spines.
std::unique_ptr<Topology> make_leaf_spine(const TopologySpec& spec);

/// Servers [v_{k−1} … v_0] of k ports; the switch of level i joins the n servers that differ in digit i (Guo et al.
/// 2009). Routes correct the digits from v_{k−1} down to v_0; the servers between relay.
std::unique_ptr<Topology> make_bcube(std::int64_t n, std::int64_t k, const LinkSpec& link);

/// Hosts of `gpus_per_host` GPUs, each on an inner link to its host, as with_gpus() has them. Port p of every host
/// hangs on rail switch p, and with several rails each switch has a link / oversubscription to each of as many spines
/// as there are hosts. A message to GPU k of another host takes rail k mod r all the way; without PXN it leaves by the
/// sender's rail, and changes rails, where it must, in the spine that bears the receiving host's number.
std::unique_ptr<Topology> make_rail(const TopologySpec& spec, std::int64_t hosts);

/// Shortest paths by latency, then links; equal ones are shared out by destination (ShortestPaths).
std::unique_ptr<Topology> make_graph(const TopologySpec& spec);

/// GPUs hang on each host of `network` over the inner link; ranks sit on the GPUs. Where hosts have several NICs, a
/// message to GPU k goes by NIC k mod `nics` at both ends: on one network, whose switches are joined by links as many
/// times as wide, or on a copy of the network for each NIC (`planes`).
std::unique_ptr<Topology> with_gpus(std::unique_ptr<Topology> network, const TopologySpec& spec);

/// Some links changed, some down. Where a route meets a link that is down, the shortest path is taken instead, in its
/// plane, or across planes, through the hosts, where the plane no longer leads there; such ways are left out. Throws
/// InputError where a change names no link, or hosts are cut off.
std::unique_ptr<Topology> with_changes(std::unique_ptr<Topology> network, std::span<const LinkChange> changes);

/// Ranks sit where `spec` places them. Spread: hosts are dealt in turn from switch to switch (hosts_of_a_switch), ranks
/// fill each; where no switch has a few hosts of many, ranks are dealt from host to host. A list is of hosts that ranks
/// fill in its order. Throws InputError for a list that is too short or names no host, or one twice, and for what has
/// nothing to choose. REQUIRES: it is not packed.
std::unique_ptr<Topology> with_placement(std::unique_ptr<Topology> network, const TopologySpec& spec,
                                         std::int64_t workers);

}  // namespace allreplay
