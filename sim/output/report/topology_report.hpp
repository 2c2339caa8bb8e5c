// The report of the command `topology`.
#pragma once

#include <string>

#include "sim/base/core/json_value.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/output/report/view.hpp"

namespace allreplay {

// Each throws InputError if the cluster has no topology, or its workers do not fit.
JsonValue topology_json(const Cluster& cluster);
std::string topology_dot(const Cluster& cluster);

const View& topology_view();

}  // namespace allreplay
