// One function per kind of topology: its hosts, switches, links and routing rule. The with_… functions add several GPUs
// per host, changed or failed links, and a placement; make_topology.cpp combines them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"
#include "sim/inputs/cluster/topology_spec.hpp"

namespace allreplay {

// REQUIRES, for each function: the caller has checked the numbers of hosts and links.

std::unique_ptr<Topology> make_star(std::int64_t hosts, const LinkSpec& link);

/// A ring is a torus of one dimension. Host (x₀, x₁, …) has number (x₀·d₁ + x₁)·d₂ + …; a dimension of two has one
/// link, not two. Routes correct x₀ first, and each dimension in the shorter direction, upwards if both are equal.
std::unique_ptr<Topology> make_torus(std::span<const std::int64_t> dimensions, const LinkSpec& link);

/// Tree 1 is heap-ordered (the parent of i is (i − 1)/2), tree 2 its mirror image (rank r has the place of N − 1 − r).
/// A route stays in the tree in which it is shorter, tree 1 if both are equal.
std::unique_ptr<Topology> make_double_binary_tree(std::int64_t hosts, const LinkSpec& link);

/// k-port switches (Al-Fares et al. 2008): k pods of k/2 edge and k/2 aggregation switches, (k/2)² cores. Up-down
/// routing; the way up is chosen by the destination d: aggregation switch d mod k/2, its core d/(k/2) mod k/2.
std::unique_ptr<Topology> make_fat_tree(std::int64_t ports, double oversubscription, const LinkSpec& link);

/// Each leaf is linked to each spine with an equal share of its hosts' bandwidth / oversubscription. A message to host
/// d of another leaf goes through spine d mod spines.
std::unique_ptr<Topology> make_leaf_spine(const TopologySpec& spec);

/// Servers [v_{k−1} … v_0] of k ports; the switch of level i joins the n servers that differ in digit i (Guo et al.
/// 2009). Routes correct the digits from v_{k−1} down to v_0; the servers in between forward.
std::unique_ptr<Topology> make_bcube(std::int64_t n, std::int64_t k, const LinkSpec& link);

/// Hosts have `gpus_per_host` GPUs on inner links, as in with_gpus(). Port p of every host is linked to rail switch p.
/// With several rails there are as many spines as hosts, and each switch has a link / oversubscription to each spine. A
/// message to GPU k of another host stays on rail k mod r; without PXN it leaves on the sender's rail and, if that is
/// another, changes rails at the spine that has the receiving host's number.
std::unique_ptr<Topology> make_rail(const TopologySpec& spec, std::int64_t hosts);

/// Routes are shortest paths by latency, then links; among equal ones the destination decides (ShortestPaths).
std::unique_ptr<Topology> make_graph(const TopologySpec& spec);

/// Links GPUs, on which the ranks are, to each host of `network` by inner links. If hosts have several NICs, a message
/// to GPU k uses NIC k mod `nics` at both ends: of one network, whose links between switches are `nics` times as wide,
/// or of a copy of the network for each NIC (`planes`).
std::unique_ptr<Topology> with_gpus(std::unique_ptr<Topology> network, const TopologySpec& spec);

/// Changes links or takes them down. A route over a link that is down is replaced by the shortest path in its plane, or
/// across planes, through hosts, if its plane is disconnected; other ways over such links are left out. Throws
/// InputError if a change names no link, or hosts are disconnected.
std::unique_ptr<Topology> with_changes(std::unique_ptr<Topology> network, std::span<const LinkChange> changes);

/// Places ranks as `spec` says. Spread: hosts are taken from each edge switch in turn (hosts_of_a_switch), and ranks
/// fill each host; in kinds without edge switches, ranks are dealt from host to host. A list: ranks fill its hosts in
/// order. Throws InputError if a list is too short, or names no host or one twice, or if the topology leaves no choice.
/// REQUIRES: the placement is not packed.
std::unique_ptr<Topology> with_placement(std::unique_ptr<Topology> network, const TopologySpec& spec,
                                         std::int64_t workers);

// Sums over senders and receivers, for the closed forms of Topology::count_all.

std::int64_t everybody(Census hosts);

/// The sums of each `block` consecutive hosts.
std::vector<std::int64_t> by_block(Census hosts, std::size_t block);

/// Finds a member of `from` and a member of `to` on different hosts.
std::optional<HostPair> apart(Census from, Census to);

/// The same in different blocks of `block` hosts.
std::optional<HostPair> apart_in_blocks(Census from, Census to, std::size_t block);

/// The same in one block of `block` hosts, but in different blocks of `inner`.
std::optional<HostPair> apart_within(Census from, Census to, std::size_t block, std::size_t inner);

/// Adds the routes over the links at their ends: `first` + 2·host leads from a host, the next one to it.
void count_at_ends(Census from, Census to, LinkId first, std::span<double> loads);

}  // namespace allreplay
