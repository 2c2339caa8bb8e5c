// Input of the goodput model for a single scenario: its nodes, and its throughput on fewer of them.
#pragma once

#include "sim/studies/experiment/request.hpp"
#include "sim/studies/experiment/run.hpp"
#include "sim/studies/jobs/goodput.hpp"

namespace allreplay {

/// The number of nodes: of a two-level cluster, or of a topology's machines; otherwise every worker is a node.
std::int64_t nodes_of_job(const Scenario& scenario);

/// Makes a goodput job. `outcome` is the result of `request`. Throughputs on fewer nodes are simulated on demand, which
/// throws InputError if strategy or collective do not allow so few workers. REQUIRES: the library outlives the result.
GoodputJob goodput_job(Library& library, const Request& request, const Outcome& outcome);

}  // namespace allreplay
