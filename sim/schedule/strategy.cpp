#include "sim/schedule/strategy.hpp"

#include <fmt/format.h>

#include "sim/schedule/frameworks.hpp"
#include "sim/schedule/merging.hpp"

namespace allreplay {

std::span<const Strategy> strategies() {
  static const std::vector<Strategy> all{
      {"s-sgd", "every tensor alone, none before the backward pass ends (naive)", {}, plan_s_sgd},
      {"wfbp", "every tensor alone, as soon as it is ready", {}, plan_wfbp},
      {"sync-easgd", "all tensors in one collective", {}, plan_sync_easgd},
      {"mg-wfbp", "tensors merged by MG-WFBP's Algorithm 1, as printed", {}, plan_mg_wfbp},
      {"optimal-merge", "the best of all contiguous merges (dynamic programme)", {}, plan_optimal_merge},
      {"ddp", "PyTorch DDP's buckets", {"bucket_cap", "first_bucket"}, plan_ddp},
      {"horovod", "Horovod's fusion of what is ready at each cycle", {"threshold", "cycle"}, plan_horovod},
  };
  return all;
}

const Strategy& find_strategy(std::string_view name, const Place& place) {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) {
    if (strategy.name == name) return strategy;
    names.emplace_back(strategy.name);
  }
  throw InputError(place, fmt::format("unknown strategy '{}'", name), suggest(name, names));
}

Plan make_plan(const Strategy& strategy, const PlanRequest& request) {
  Plan plan = strategy.plan(request);
  require_complete(plan, request.profile);
  return plan;
}

}  // namespace allreplay
