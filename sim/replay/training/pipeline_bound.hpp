// The lower bound of a pipeline's iteration.
#pragma once

#include <optional>

#include "sim/replay/training/job.hpp"

namespace allreplay {

/// Returns seconds (docs/pipelines.md, "Lower bound"); none in a detailed fidelity if ranks have several lanes.
std::optional<double> pipeline_bound(const Job& job, const Plan& plan, const Unrolled& unrolled);

}  // namespace allreplay
