// Builds a network with routes from the description in a cluster file, and derives changed networks from it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"
#include "sim/inputs/cluster/topology_spec.hpp"

namespace allreplay {

/// Builds a network for `workers` workers, rank i on host i unless placed elsewhere. `star`, `ring`,
/// `double-binary-tree` and `rail` get as many hosts as the workers need; the others have fixed sizes. Throws
/// InputError if the hosts are too few, too many to hold, or disconnected.
std::unique_ptr<Topology> make_topology(const TopologySpec& spec, std::int64_t workers);

/// Returns the same network with rank i on seats[i], and further ranks on the other hosts. REQUIRES: distinct seats.
std::shared_ptr<const Topology> seated(std::shared_ptr<const Topology> network, std::span<const NodeId> seats);

/// Returns the same network with other links; those of bandwidth 0 are down, and routes over them are replaced by the
/// shortest path over the others, in its plane if possible. REQUIRES: no route between disconnected hosts is used.
std::shared_ptr<const Topology> with_links(std::shared_ptr<const Topology> network, std::vector<Link> links);

/// Returns the links, with those of other planes down.
std::vector<Link> links_in(const Topology& network, std::uint32_t plane);

/// Tells which hosts are connected by links that are up.
class Connections {
 public:
  explicit Connections(const Topology& network);

  /// Returns the first host and the first one that it cannot reach; nothing if it reaches all.
  std::optional<HostPair> cut_off(std::span<const NodeId> hosts) const;

 private:
  std::vector<int> part_of_;  // by node
};

/// The worst latency and bandwidth on the routes between neighbouring ranks.
struct RouteBound {
  double latency = 0;    ///< of the longest route, seconds
  double bandwidth = 0;  ///< of the slowest link, bytes per second; infinite if no link is used
};

/// The bound over the routes from each rank to the next, and from the last to the first.
RouteBound consecutive_route_bound(const Topology& topology, std::int64_t workers);

/// The bound over the routes from each machine's last GPU to the next machine's first, and from the last machine to the
/// first. Its bandwidth is that of links between machines.
RouteBound machine_route_bound(const Topology& topology, std::int64_t workers);

}  // namespace allreplay
