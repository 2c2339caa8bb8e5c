// Facts about a topology, for people and for papers' tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/cluster/bisection.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/cluster/topology_spec.hpp"

namespace allreplay {

/// The longest of the routes between two ranks: by links, and by latency (not always the same route).
struct Diameter {
  std::int64_t hops = 0;  ///< links; from host to host through one switch is two
  double latency = 0;     ///< seconds
};

struct TopologyFacts {
  std::int64_t hosts = 0;  ///< machines
  std::int64_t gpus_per_host = 1;
  std::int64_t switches = 0;
  std::int64_t links = 0;  ///< full-duplex, those that are down left out
  std::int64_t links_down = 0;
  std::optional<Diameter> diameter;  ///< of what has no rule, only up to some thousand hosts
  std::optional<Bisection> bisection;
};

TopologyFacts describe(const Topology& topology, const TopologySpec& spec);

/// In Graphviz's language: hosts are boxes, switches ellipses, an edge per full-duplex link (dashed: down), with
/// the NIC at its end.
std::string to_dot(const Topology& topology, const std::string& name);

}  // namespace allreplay
