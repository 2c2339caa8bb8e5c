// Derives the dependencies between the ops of one stage.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/formats/interchange/timelines/measured_job.hpp"

namespace allreplay {

/// Returns pairs (before, after) of indices in `ops`, the ops of one worker in one step: the second starts no earlier
/// than the first ends. Empty if there are far more pairs than ops, which no training has: thousands of ops at the end
/// of a step that each depend on thousands. REQUIRES: a forward and a backward compute.
std::vector<std::pair<std::uint32_t, std::uint32_t>> stage_order(std::span<const MeasuredOp> ops);

}  // namespace allreplay
