// Strategies: pure functions from a profile and the cost of communication to a plan.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/collective/comm_cost.hpp"
#include "sim/core/error.hpp"
#include "sim/schedule/plan.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

/// What users may set; each strategy says which of these it reads.
struct StrategyOptions {
  Bytes first_bucket = Bytes{1} << 20;  ///< ddp: cap of the first bucket, so that communication starts early
  Bytes bucket_cap = Bytes{25} << 20;   ///< ddp: PyTorch's bucket_cap_mb
  Bytes threshold = Bytes{64} << 20;    ///< horovod: HOROVOD_FUSION_THRESHOLD
  Time cycle{5'000'000'000};            ///< horovod: HOROVOD_CYCLE_TIME
};

struct PlanRequest {
  const Profile& profile;  ///< as the slowest worker runs it: the last to be ready is what a block waits for
  const CommCost& cost;    ///< of the collective that will carry the blocks
  const StrategyOptions& options;
};

struct Strategy {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string_view> options;  ///< those of StrategyOptions that it reads, as users name them
  Plan (*plan)(const PlanRequest& request);
};

std::span<const Strategy> strategies();

/// Throws InputError at `place`, naming the nearest known one.
const Strategy& find_strategy(std::string_view name, const Place& place);

/// The complete plan of `strategy` (require_complete holds).
Plan make_plan(const Strategy& strategy, const PlanRequest& request);

}  // namespace allreplay
