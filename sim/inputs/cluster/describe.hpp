// Describes a topology: its sizes, diameter and bisection bandwidth, and a drawing in Graphviz's language.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/inputs/cluster/bisection.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/inputs/cluster/topology.hpp"
#include "sim/inputs/cluster/topology_spec.hpp"

namespace allreplay {

/// The longest route between two ranks, by links and by latency (not always the same route).
struct Diameter {
  std::int64_t hops = 0;  ///< links; from host to host through one switch is two
  double latency = 0;     ///< seconds
};

struct TopologyFacts {
  std::int64_t hosts = 0;  ///< machines
  std::int64_t gpus_per_host = 1;
  std::int64_t switches = 0;
  std::int64_t links = 0;  ///< full-duplex links that are up
  std::int64_t links_down = 0;
  std::optional<Diameter> diameter;  ///< missing if there is no formula and more than 2048 hosts
  std::optional<Bisection> bisection;
};

TopologyFacts describe(const Topology& topology, const TopologySpec& spec);

/// The name of a cluster in results, with its routing if one was chosen: "leaves (routing ecmp:flows=4)".
std::string named_with_routing(const Cluster& cluster);
std::string named_with_routing(const std::string& cluster, const std::string& routing);

/// Writes the topology in Graphviz's language: hosts are boxes, switches ellipses, full-duplex links edges (dashed if
/// down) with the names of NICs at their ends.
std::string to_dot(const Topology& topology, const std::string& name);

}  // namespace allreplay
