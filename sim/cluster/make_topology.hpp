// From what a file says to a network with routes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/cluster/topology_spec.hpp"

namespace allreplay {

/// A network for that many workers, rank i on host i unless it is placed elsewhere. `star`, `ring`,
/// `double-binary-tree` and `rail` have as many hosts as workers need; the others what their sizes say. Throws
/// InputError where they are too few, too many to hold, or cut off from each other.
std::unique_ptr<Topology> make_topology(const TopologySpec& spec, std::int64_t workers);

/// The same network with rank i on seats[i]; hosts that nobody was given follow. REQUIRES: each host once at most.
std::shared_ptr<const Topology> seated(std::shared_ptr<const Topology> network, std::span<const NodeId> seats);

/// The same network with its links so, those of bandwidth 0 down: where a route meets one, the shortest path over the
/// others is taken instead, in its plane if that leads there. REQUIRES: nobody asks for a way between hosts that are
/// cut off.
std::shared_ptr<const Topology> with_links(std::shared_ptr<const Topology> network, std::vector<Link> links);

/// The links, with those of other planes down.
std::vector<Link> links_in(const Topology& network, std::uint32_t plane);

/// The hosts among which links that are up lead.
class Connections {
 public:
  explicit Connections(const Topology& network);

  /// Returns the first host and the first one that it cannot reach; nothing if it reaches all.
  std::optional<HostPair> cut_off(std::span<const NodeId> hosts) const;

 private:
  std::vector<int> part_of_;  // by node
};

/// What a collective between neighbouring ranks meets at worst.
struct RouteBound {
  double latency = 0;    ///< of the longest route, seconds
  double bandwidth = 0;  ///< of the slowest link, bytes per second; infinite where no link is used
};

/// Over the routes from each rank to the next, and from the last to the first.
RouteBound consecutive_route_bound(const Topology& topology, std::int64_t workers);

/// Over the routes from each machine's last GPU to the next machine's first, and from the last machine's to the first:
/// of bandwidths, those between machines.
RouteBound machine_route_bound(const Topology& topology, std::int64_t workers);

}  // namespace allreplay
