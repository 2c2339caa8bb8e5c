// The topology, coloured by how much its links are used.
#pragma once

#include <string>

#include "sim/cluster/topology_spec.hpp"
#include "sim/picture/drawing.hpp"
#include "sim/training/link_usage.hpp"

namespace allreplay {

/// Every node up to some hundred; beyond that one of all that look alike from everywhere (symmetry, links' use
/// included), with how many they are; and of what is still too much one of each kind.
Drawing links_picture(const LinkUsage& usage, const TopologySpec& spec, const std::string& title);

}  // namespace allreplay
