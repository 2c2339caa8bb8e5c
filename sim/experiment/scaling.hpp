// What scaling is relative to: a single worker says little of a model that does not fit there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/experiment/ranking.hpp"

namespace allreplay {

struct ScalingReference {
  std::int64_t workers = 1;  ///< the fewest on which `strategy` fits: one, else a node, else twice as many each time
  double efficiency = 1;     ///< there, over one worker
  std::string strategy;      ///< the winner, which is what scales
  std::int64_t micro_batches = 1;            ///< of the winner's iteration, for each replica
  double gpu_seconds = 0;                    ///< there, for each micro-batch
  std::vector<std::int64_t> undivided = {};  ///< fewer workers, among which the samples of an iteration do not divide

  /// What a GPU does, relative to that: of as many micro-batches by their work, of others by their number.
  double relative(const Outcome& outcome) const;
};

/// That of one outcome, which is simulated on fewer workers where there is a limit of memory: with as many
/// micro-batches, or where the samples of an iteration are given with as many samples.
ScalingReference scaling_reference(const Outcome& winner);

/// The same on another cluster: what the winner reaches there, on as many workers. Throws InputError where it cannot.
ScalingReference reference_on(const Cluster& cluster, const Outcome& winner, ScalingReference reference);

/// Of each outcome, by its profile, cluster and fidelity: that of the winner on the most workers there.
std::vector<ScalingReference> scaling_references(const std::vector<Outcome>& outcomes, const WinningRule& rule);

/// row_with_schedule(), and behind it `reference_workers` and `relative_efficiency`.
Row row_with_reference(const Outcome& outcome, const ScalingReference& reference);

}  // namespace allreplay
