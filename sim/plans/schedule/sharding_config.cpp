#include "sim/plans/schedule/sharding_config.hpp"

#include <algorithm>

namespace allreplay {

std::vector<NamedGroup> data_parallel_groups(ShardingConfig sharding) {
  const std::int64_t size = sharding.shard_group, stride = sharding.stride;
  const Group all = equal_place_group(stride);
  if (sharding.has_expert_groups())
    return {{"all", all},
            {"shard", all},
            {"replica", consecutive(1)},
            {"expert", equal_place_group(stride * sharding.experts)}};
  if (size > 0)
    return {{"all", all},
            {"shard", {.ranks = size, .stride = stride, .repeats = 0}},
            {"replica", equal_place_group(size * stride), 1 / static_cast<double>(size)}};
  std::vector<NamedGroup> groups{{"all", all}, {"shard", all}, {"replica", consecutive(1)}};
  if (!sharding.in_nodes()) return groups;
  const std::int64_t node = std::max<std::int64_t>(1, sharding.node);
  groups.push_back({"secondary", consecutive(sharding.secondary)});
  groups.push_back({"node", consecutive(node)});
  groups.push_back({"nodes", equal_place_group(node), 1 / static_cast<double>(node)});
  return groups;
}

}  // namespace allreplay
