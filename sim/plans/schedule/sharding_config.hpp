// Micro-batches, and how the training state is sharded among the workers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/plans/collective/group.hpp"

namespace allreplay {

struct ShardingConfig {
  std::int64_t accumulate = 1;   ///< K: micro-batches per iteration
  std::int64_t zero = 0;         ///< ZeRO's stage, 0 to 3
  std::int64_t shard_group = 0;  ///< G: workers in a shard group; 0: all
  std::int64_t stride = 1;       ///< distance between members of a group; the degree of tensor parallelism
  std::int64_t experts = 1;      ///< E: workers that together hold all experts; 1 also if the profile has none
  /// Within the shard groups everything is sharded as `zero` says; the optimizer is also sharded over the groups.
  bool outer_optimizer = false;
  std::int64_t secondary = 1;  ///< ZeRO++: consecutive workers that share a second copy of parameters; 1: none
  std::int64_t node = 0;       ///< ZeRO++: workers of a node, if reductions go in and between nodes; 0: in one step
  /// H: local steps of a round, which averages parameters; 0: each step reduces gradients.
  std::int64_t sync_every = 0;
  std::int64_t delay = 0;  ///< steps from the start of a fragment's average to its use
  bool operator==(const ShardingConfig&) const = default;

  /// The same at another stage.
  ShardingConfig at_stage(std::int64_t stage) const {
    ShardingConfig other = *this;
    other.zero = stage;
    return other;
  }
  // Each stage shards more than the lower ones.
  bool shards_optimizer() const { return zero >= 1; }
  bool shards_gradients() const { return zero >= 2; }
  bool shards_parameters() const { return zero >= 3; }
  /// True if ZeRO++ has groups in nodes, or between them.
  bool in_nodes() const { return secondary > 1 || node > 0; }
  /// True if workers take local steps, and average parameters once in a round.
  bool averages() const { return sync_every > 0; }
  /// The steps of a plan's program.
  std::int64_t steps() const { return averages() ? sync_every : 1; }
  /// The micro-batches of a plan's program.
  std::int64_t micro_batches() const { return steps() * accumulate; }

  /// F: the number of workers that share one copy of the sharded state.
  std::int64_t group_size(std::int64_t workers) const { return shard_group > 0 ? shard_group : workers / stride; }
  std::int64_t shards(std::int64_t workers) const { return shards_optimizer() ? group_size(workers) : 1; }
  /// True if gradients of experts are reduced in groups of their own.
  bool has_expert_groups() const { return experts > 1; }
  /// True if some collectives run in groups of the data-parallel workers.
  bool has_groups() const { return shard_group > 0 || has_expert_groups(); }
  /// The number of workers that share one copy of the optimizer's state, and its step.
  std::int64_t optimizer_shards(std::int64_t workers) const {
    return outer_optimizer ? workers / stride : shards(workers);
  }
};

/// A family of equal groups in which a plan's transfers run.
struct NamedGroup {
  std::string name;  ///< as in plan files
  Group group;
  double share = 1;  ///< the part of a block's bytes that each group sends
  bool operator==(const NamedGroup&) const = default;
};

/// Indices of the families of data parallelism.
enum DataParallelGroup : std::uint32_t {
  group_all,      ///< all workers
  group_shard,    ///< the shard groups
  group_replica,  ///< workers at the same position of the shard groups; they sum their 1/G of the bytes
  group_expert,   ///< workers that hold the same experts; only with has_expert_groups()
  // Only with in_nodes(), and then instead of group_expert:
  group_secondary = group_expert,  ///< workers that share the secondary copy of parameters
  group_node,                      ///< the workers of a node
  group_nodes,                     ///< workers at the same position of the nodes; each reduces its 1/L of the bytes
};
/// Takes its argument by value: for a reference to `{}`, GCC 12 warns (-Wdangling-pointer).
std::vector<NamedGroup> data_parallel_groups(ShardingConfig sharding);

}  // namespace allreplay
