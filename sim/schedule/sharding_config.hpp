// The training step around the collectives: micro-batches, and what of the training state is shared out among whom.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/collective/group.hpp"

namespace allreplay {

struct ShardingConfig {
  std::int64_t accumulate = 1;   ///< K: micro-batches of an iteration
  std::int64_t zero = 0;         ///< ZeRO's stage, as users say it
  std::int64_t shard_group = 0;  ///< G: among so many consecutive workers; 0: all
  std::int64_t stride = 1;       ///< between neighbours of a group: tensor-parallel workers hold other parts of a model
  bool operator==(const ShardingConfig&) const = default;

  // What each stage shares out, and all below it do, too.
  bool shards_optimizer() const { return zero >= 1; }
  bool shards_gradients() const { return zero >= 2; }
  bool shards_parameters() const { return zero >= 3; }

  /// F: among how many of `workers` the state is shared out.
  std::int64_t group_of(std::int64_t workers) const { return shard_group > 0 ? shard_group : workers / stride; }
  std::int64_t shards(std::int64_t workers) const { return shards_optimizer() ? group_of(workers) : 1; }
};

/// A family of groups that a plan's transfers go among.
struct NamedGroup {
  std::string name;  ///< as plan files have it
  Group group;
  double share = 1;  ///< of a block's bytes: what each of the groups sends
  bool operator==(const NamedGroup&) const = default;
};

/// Those of data parallelism, by their numbers.
enum DataParallelGroup : std::uint32_t {
  group_all,      ///< everybody
  group_shard,    ///< who shares out what is sharded
  group_replica,  ///< those of equal place in the shard groups: each sums its 1/G of the bytes
};
/// By value: GCC 12 takes a reference to `{}` for one that dangles (-Wdangling-pointer).
std::vector<NamedGroup> data_parallel_groups(ShardingConfig sharding);

}  // namespace allreplay
