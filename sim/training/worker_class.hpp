// Workers that compute alike are simulated once.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/stragglers.hpp"

namespace allreplay {

struct WorkerClass {
  double slowdown = 1;
  std::vector<std::int64_t> workers;  ///< whom it stands for, in increasing order
};

/// With jitter no two workers are alike. `fold` = false keeps all apart: results must not change (a test).
std::vector<WorkerClass> worker_classes(const Stragglers& stragglers, std::int64_t workers, bool fold = true);

/// The largest slowdown of any worker.
double slowest(const std::vector<WorkerClass>& classes);

}  // namespace allreplay
