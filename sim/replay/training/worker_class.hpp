// Classes of workers with identical computation, which are simulated once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/inputs/workload/stragglers.hpp"
#include "sim/plans/schedule/plan.hpp"

namespace allreplay {

struct WorkerClass {
  double slowdown = 1;
  std::vector<std::int64_t> workers;                 ///< in increasing order
  std::uint32_t role = 0;                            ///< of the plan
  std::shared_ptr<const Profile> profile = nullptr;  ///< of their kind of worker; null: the job's
};

/// Returns by worker the constant factor on its compute times. A spread without seed slows one worker in each of the
/// `ranks` of a pipeline. `together`: transfers start when the last worker is ready, so that only the slowest worker of
/// a spread matters. REQUIRES: no seed in a pipeline, whose ranks have equally many workers with adjacent numbers.
std::vector<double> slowdowns(const Stragglers& stragglers, std::int64_t workers, std::int64_t ranks = 1,
                              bool together = true);

/// Groups workers by role and slowdown; not with jitter, or if `fold` is false. Results do not depend on `fold`.
std::vector<WorkerClass> worker_classes(const Stragglers& stragglers, std::int64_t workers, bool fold = true,
                                        const std::vector<Role>& roles = std::vector<Role>(1), bool together = true);

/// Returns the indices of the classes with this role; none: of all classes.
std::vector<std::uint32_t> classes_of(const std::vector<WorkerClass>& classes, std::optional<std::uint32_t> role);

}  // namespace allreplay
