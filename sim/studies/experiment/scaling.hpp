// The reference of scaling efficiency: the fewest workers on which the model fits, instead of a single worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/studies/experiment/run.hpp"

namespace allreplay {

struct ScalingReference {
  std::int64_t workers = 1;                  ///< the fewest that fit: one, else a node, else twice as many each time
  double efficiency = 1;                     ///< on these workers, relative to one worker
  std::string strategy;                      ///< the strategy of the winner
  std::int64_t micro_batches = 1;            ///< of the winner, per replica and iteration
  double gpu_seconds = 0;                    ///< of the reference, per micro-batch and replica
  std::vector<std::int64_t> undivided = {};  ///< smaller numbers that do not divide the samples of an iteration

  /// Returns the outcome's throughput per GPU relative to the reference.
  double relative(const Outcome& outcome) const;
};

/// Returns the reference of one outcome. If memory is limited, simulates it on fewer workers, with the same
/// micro-batches or, if the samples of an iteration are given, with the same samples.
ScalingReference scaling_reference(const Outcome& winner);

/// Returns the reference on another cluster, with the same workers. Throws InputError if the winner cannot run there.
ScalingReference reference_on(const Cluster& cluster, const Outcome& winner, ScalingReference reference);

/// Returns each outcome's reference: of the winner on the most workers with its profile, cluster and fidelity.
std::vector<ScalingReference> scaling_references(const std::vector<Outcome>& outcomes, const WinningRule& rule);

/// row_with_schedule(), followed by `reference_workers` and `relative_efficiency`.
Row row_with_reference(const Outcome& outcome, const ScalingReference& reference);

}  // namespace allreplay
