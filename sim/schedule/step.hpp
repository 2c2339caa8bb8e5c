// The training step around the collectives: micro-batches, and what of the training state is shared out.
#pragma once

#include <cstdint>

namespace allreplay {

struct Step {
  std::int64_t accumulate = 1;  ///< K: micro-batches of an iteration
  std::int64_t zero = 0;        ///< ZeRO's stage: 1 shares out the optimizer, 2 the gradients too, 3 the parameters too
  std::int64_t shard_group = 0;  ///< G: among so many consecutive workers; 0: all
  bool operator==(const Step&) const = default;

  /// F: among how many of `workers` the state is shared out.
  std::int64_t group_of(std::int64_t workers) const { return shard_group > 0 ? shard_group : workers; }
  std::int64_t shards(std::int64_t workers) const { return zero > 0 ? group_of(workers) : 1; }
};

}  // namespace allreplay
