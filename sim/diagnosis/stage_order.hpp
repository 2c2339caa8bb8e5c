// What follows what among the ops of one stage.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/interchange/timelines/measured_job.hpp"

namespace allreplay {

/// Pairs (before, after) of places in `ops`, which are those of one worker in one step: the second starts no earlier
/// than the first ends. Empty where they are far more than ops, as none of training are: thousands of ops at a step's
/// end that each wait for thousands. REQUIRES: a forward and a backward compute.
std::vector<std::pair<std::uint32_t, std::uint32_t>> stage_order(std::span<const MeasuredOp> ops);

}  // namespace allreplay
