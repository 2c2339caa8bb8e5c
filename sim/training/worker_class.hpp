// Workers that compute alike are simulated once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/schedule/plan.hpp"
#include "sim/workload/stragglers.hpp"

namespace allreplay {

struct WorkerClass {
  double slowdown = 1;
  std::vector<std::int64_t> workers;                 ///< whom it stands for, in increasing order
  std::uint32_t role = 0;                            ///< of the plan: whose program they run
  std::shared_ptr<const Profile> profile = nullptr;  ///< of their own kind of worker; none: everybody's
};

/// By worker: how many times as long it computes, always. Of a spread without seed one worker in each of the `ranks` of
/// a pipeline is slow. `together`: every transfer starts on all of them once the last is ready, so that of a spread the
/// slowest suffices. REQUIRES: no seed in a pipeline, whose ranks are neighbours in number, equally many.
std::vector<double> slowdowns(const Stragglers& stragglers, std::int64_t workers, std::int64_t ranks = 1,
                              bool together = true);

/// Workers of one role that are slowed alike. With jitter no two workers are alike. `fold` = false keeps all apart:
/// results must not change (a test).
std::vector<WorkerClass> worker_classes(const Stragglers& stragglers, std::int64_t workers, bool fold = true,
                                        const std::vector<Role>& roles = std::vector<Role>(1), bool together = true);

/// The numbers of those that run a role's program; none: of all.
std::vector<std::uint32_t> classes_of(const std::vector<WorkerClass>& classes, std::optional<std::uint32_t> role);

}  // namespace allreplay
