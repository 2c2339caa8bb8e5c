// Below what no iteration of a pipeline is.
#pragma once

#include <optional>

#include "sim/training/job.hpp"

namespace allreplay {

/// Seconds; none in a detailed fidelity where ranks have several lanes. docs/pipelines.md, "Lower bound".
std::optional<double> pipeline_bound(const Job& job, const Plan& plan, const Unrolled& unrolled);

}  // namespace allreplay
