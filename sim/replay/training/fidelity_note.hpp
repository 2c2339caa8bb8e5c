// Notes on the effects that decide a result in addition to the links' bandwidths: start-ups, shared links that
// alpha-beta ignores, or assumptions of the fidelity (docs/network.md, "Which fidelity?").
#pragma once

#include <string>
#include <vector>

#include "sim/replay/training/job.hpp"

namespace allreplay {

/// Returns the note for the job's collective in isolation at these sizes; "" if there is none.
std::string fidelity_note(const Job& job, CollectiveOp op, const std::vector<Bytes>& sizes);

/// Returns the note for all transfers of a plan; "" for pipelines. REQUIRES: the job is prepared for the plan.
std::string fidelity_note(const Job& job, const Plan& plan);

}  // namespace allreplay
