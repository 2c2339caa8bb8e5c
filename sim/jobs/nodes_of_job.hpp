// What failures and checkpoints ask of one scenario: on how many nodes it runs, and what fewer would do.
#pragma once

#include "sim/experiment/request.hpp"
#include "sim/experiment/run.hpp"
#include "sim/jobs/goodput.hpp"

namespace allreplay {

/// Hosts that hold the workers: nodes of two levels, machines of a topology, else a worker each.
std::int64_t nodes_of_job(const Scenario& scenario);

/// Of the request whose outcome this is. Fewer nodes are simulated when they are first asked for, and throw InputError
/// where strategy or collective refuses them. REQUIRES: the library outlives it.
GoodputJob goodput_job(Library& library, const Request& request, const Outcome& outcome);

}  // namespace allreplay
