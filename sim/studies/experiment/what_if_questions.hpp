// The changes that `whatif` tries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/studies/experiment/run.hpp"
#include "sim/studies/experiment/side_by_side.hpp"

namespace allreplay {

/// The kind of a change. Two changes of one kind cannot be combined.
enum class WhatIfKind : std::uint8_t {
  Bandwidth,
  Latency,
  Inner,
  Node,
  Rails,
  Placement,
  Stragglers,
  HostBlock,
  HostStep,
  Dtype,
  Accumulate,
  Reduce,
  Group,
  Batch,
  Degree,
  Schedule,
  Exchange,
  Recompute,
  Strategy,
  Best,
  Workers
};

/// A change to try.
struct WhatIfQuestion {
  WhatIfKind kind;
  std::string name;
  RequestChange change;
  bool is_level = false;  ///< makes a level of the network twice as fast
};

/// Returns the changes to try, except for the strategies of frameworks, which are tuned first.
std::vector<WhatIfQuestion> what_if_questions(const Outcome& base);

/// Sets a framework's strategy. It keeps the requested ZeRO stage unless it shards in its own way.
void set_strategy(Request& request, const Strategy& strategy);

/// Returns a level of the network with its bandwidth: "inside nodes 370.8 GB/s".
std::string limit_of(WhatIfKind kind, const Network& network);

}  // namespace allreplay
