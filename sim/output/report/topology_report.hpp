// The reports of the command `topology`, and of the use of links: of each kind, and of the hottest ones.
#pragma once

#include <string>

#include "sim/base/core/json_value.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/output/report/view.hpp"
#include "sim/replay/training/link_usage.hpp"

namespace allreplay {

// Each throws InputError if the cluster has no topology, or its workers do not fit.
JsonValue topology_json(const Cluster& cluster);
std::string topology_dot(const Cluster& cluster);

const View& topology_view();

JsonValue links_json(const LinkUsage& usage);
/// The same with the number of links of each kind that are down, and the routing if there is a choice.
JsonValue links_document(const LinkUsage& usage);
const View& links_view();  ///< of links_document()

}  // namespace allreplay
