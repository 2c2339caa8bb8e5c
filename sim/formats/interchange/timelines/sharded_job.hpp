// Builds a measured job from the sharded steps of its ranks.
#pragma once

#include <string>
#include <vector>

#include "sim/formats/interchange/timelines/sharded_steps.hpp"

namespace allreplay {

struct ShardedTrace {
  std::string file;
  std::int64_t number = 0;  ///< rank
  kineto::ShardedRank rank;
};

/// Aligns the ranks' clocks on the ends of their collectives. Throws InputError if the ranks have no step in common.
/// REQUIRES: at least two traces, by rank.
MeasuredJob sharded_job(std::vector<ShardedTrace> ranks);

}  // namespace allreplay
