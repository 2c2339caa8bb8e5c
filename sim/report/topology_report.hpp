// What the command `topology` prints.
#pragma once

#include <string>

#include "sim/cluster/cluster.hpp"
#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"

namespace allreplay {

// Each throws InputError when the cluster has no topology, or its workers do not fit.
std::string topology_table(const Cluster& cluster, const Screen& screen = {});
JsonValue topology_json(const Cluster& cluster);
std::string topology_dot(const Cluster& cluster);

}  // namespace allreplay
