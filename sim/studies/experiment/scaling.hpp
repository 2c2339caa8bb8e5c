// The reference of scaling efficiency, `relative_efficiency`: the fewest workers on which the model fits. `efficiency`
// alone is relative to one worker (Metrics::efficiency).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/studies/experiment/run.hpp"

namespace allreplay {

struct ScalingReference {
  std::int64_t workers = 1;                  ///< the fewest that fit: one, else a node, else twice as many each time
  double efficiency = 1;                     ///< on these workers, relative to one worker
  std::string strategy;                      ///< of the winner, with its shard groups: "fsdp2 in groups of 8"
  std::int64_t micro_batches = 1;            ///< of the winner, per replica and iteration
  double gpu_seconds = 0;                    ///< of the reference, per micro-batch and replica
  std::vector<std::int64_t> undivided = {};  ///< smaller numbers that do not divide the samples of an iteration
  std::int64_t replica_workers = 1;          ///< workers that hold the winner's model together
  bool copies = false;                       ///< the winner's plan copies on the GPU, also on one worker

  /// Returns the outcome's throughput per GPU relative to the reference.
  double relative(const Outcome& outcome) const;

  /// True if users can run the reference. With fewer workers than a replica has it is computation alone: that of the
  /// profile, which is one worker's share of the model. So it is on one worker if the plan copies there, too.
  bool runs() const { return workers >= replica_workers && !(copies && workers == 1); }
  /// "--workers 8", or "computation alone".
  std::string in_words() const;
};

/// Returns the reference of one outcome. If memory is limited, simulates it on fewer workers, with the same
/// micro-batches or, if the samples of an iteration are given, with the same samples. `watch`: counts replays.
ScalingReference scaling_reference(const Outcome& winner, const Watch& watch = {});

/// Returns each outcome's reference: of the winner on the most workers with its profile, cluster and fidelity.
std::vector<ScalingReference> scaling_references(const std::vector<Outcome>& outcomes, const WinningRule& rule,
                                                 const Watch& watch = {});

/// row_with_schedule(), followed by `reference_workers` and `relative_efficiency`.
Row row_with_reference(const Outcome& outcome, const ScalingReference& reference);

}  // namespace allreplay
