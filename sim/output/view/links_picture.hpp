// A picture of the topology, coloured by the utilisation of its links.
#pragma once

#include <string>

#include "sim/inputs/cluster/topology_spec.hpp"
#include "sim/output/picture/drawing.hpp"
#include "sim/replay/training/link_usage.hpp"

namespace allreplay {

/// Draws a slide: nodes in rows from the workers up, a torus as a grid, other topologies without switches as a circle.
/// Equal parts are drawn once, in a frame with their count (topology_sketch.hpp); links that are down are crossed out.
/// Next to each level stand the number of its links, their bandwidth and utilisation. If nothing is sent, the network
/// is drawn without utilisation.
Drawing links_picture(const LinkUsage& usage, const TopologySpec& spec, const std::string& title);

}  // namespace allreplay
