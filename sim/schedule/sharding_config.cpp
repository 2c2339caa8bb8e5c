#include "sim/schedule/sharding_config.hpp"

namespace allreplay {

std::vector<NamedGroup> data_parallel_groups(const ShardingConfig& sharding) {
  const std::int64_t size = sharding.shard_group;
  if (size == 0) return {{"all", everybody()}, {"shard", everybody()}, {"replica", consecutive(1)}};
  return {{"all", everybody()},
          {"shard", consecutive(size)},
          {"replica", of_equal_place(size), 1 / static_cast<double>(size)}};
}

}  // namespace allreplay
