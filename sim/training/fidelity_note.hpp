// What decides a result where links are simulated, if it is not the links' bandwidths: start-ups, or what the fidelity
// assumes (docs/network.md, "Which fidelity?").
#pragma once

#include <string>
#include <vector>

#include "sim/training/job.hpp"

namespace allreplay {

/// Of the job's collective alone, of these sizes: "" if there is nothing to say, as in alpha-beta.
std::string fidelity_note(const Job& job, CollectiveOp op, const std::vector<Bytes>& sizes);

/// Of a plan's transfers together. Of pipelines nothing is said. REQUIRES: the job is prepared for the plan.
std::string fidelity_note(const Job& job, const Plan& plan);

}  // namespace allreplay
