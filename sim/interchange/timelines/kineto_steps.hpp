// The steps of one rank of a data-parallel job, out of its PyTorch trace: forward pass, backward pass in parts, the
// collectives of gradients that these launched, the update.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/interchange/importers/importer.hpp"
#include "sim/interchange/importers/kineto_layers.hpp"

namespace allreplay::kineto {

/// Nanoseconds.
struct RankStep {
  std::int64_t number = 0;            ///< of its ProfilerStep#n; else a count
  Interval forward;                   ///< from the first layer to the loss
  std::vector<Interval> backward;     ///< part k ends where collective k was launched, the last with the pass
  std::vector<Interval> collectives;  ///< one behind the other: each counts from the end of the one before it
  std::optional<Interval> optimizer;
  std::int64_t length = 0, left_out = 0;                 ///< of the step, and what of it is in none of these
  std::vector<std::optional<MeasuredCollective>> sizes;  ///< of the collectives, where the trace says them
};

/// Steps that lack a pass are left out. Throws InputError at `file`: sharded training, no pass, no collective.
std::vector<RankStep> rank_steps(const Attribution& known, const SourceLocation& file);

}  // namespace allreplay::kineto
