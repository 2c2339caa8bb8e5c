// The topology, coloured by how much its links are used.
#pragma once

#include <string>

#include "sim/cluster/topology_spec.hpp"
#include "sim/picture/drawing.hpp"
#include "sim/training/link_usage.hpp"

namespace allreplay {

/// As large as a slide: rows from the workers up, what is linked to what (equal parts once, in a frame that says how
/// many: topology_sketch.hpp), links that are down crossed out; beside it the links of each level, how many, of what
/// bandwidth and how much used. A torus is a grid, what else has no switches a circle. Of a usage in which nothing is
/// sent the network alone.
Drawing links_picture(const LinkUsage& usage, const TopologySpec& spec, const std::string& title);

}  // namespace allreplay
