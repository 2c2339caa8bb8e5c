// Extracts the steps of one rank of a data-parallel job from its PyTorch trace: the forward pass, the parts of the
// backward pass, the gradient collectives that these launched, and the update.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/formats/interchange/importers/importer.hpp"
#include "sim/formats/interchange/importers/kineto_layers.hpp"

namespace allreplay::kineto {

/// In nanoseconds.
struct RankStep {
  std::int64_t number = 0;            ///< n of its ProfilerStep#n; without these, a count
  Interval forward;                   ///< from the first layer to the loss
  std::vector<Interval> backward;     ///< part k ends when collective k is launched, the last with the pass
  std::vector<Interval> collectives;  ///< without overlap: each starts no earlier than the previous one ends
  std::optional<Interval> optimizer;
  std::int64_t length = 0, left_out = 0;                 ///< of the step; time in none of the above
  std::vector<std::optional<MeasuredCollective>> sizes;  ///< of the collectives, if the trace has them
};

/// Returns the steps that have a forward and a backward pass. Throws InputError at `file` if there is none, or training
/// is sharded, accumulates gradients, or has collectives other than those of gradients inside its passes.
std::vector<RankStep> rank_steps(const Attribution& known, const SourceLocation& file);

}  // namespace allreplay::kineto
