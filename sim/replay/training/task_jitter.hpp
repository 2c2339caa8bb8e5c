// Random factors on the times of a worker's tasks, common to all strategies: with one seed, a pass of a layer draws the
// same number in the same iteration whatever else the strategy computes (common random numbers, which make comparisons
// sharp: Law, Simulation Modeling and Analysis, 5th ed., section 11.2).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/core/random.hpp"
#include "sim/inputs/workload/stragglers.hpp"
#include "sim/replay/training/unroll.hpp"

namespace allreplay {

/// The tasks of a class of workers that jitter, in the order in which they draw.
struct DrawOrder {
  std::vector<TaskId> passes;  ///< the last micro-batch's backward pass first: block strategies begin there
  std::vector<TaskId> others;  ///< updates, copies, codecs, …, in which strategies differ
};
std::vector<DrawOrder> draw_orders(const Unrolled& unrolled);  ///< by class

/// The random numbers of one worker. Passes have a stream of their own, so that other tasks do not shift it.
struct WorkerRandom {
  WorkerRandom(std::uint64_t seed, std::uint64_t worker)
      : passes(seed, worker), others(seed, worker + (std::uint64_t{1} << 63)) {}

  Random passes, others;
};

/// Calls use(task, factor) for each task of one iteration.
template <class Use>
void draw_factors(const DrawOrder& order, const Jitter& jitter, WorkerRandom& random, const Use& use) {
  for (const TaskId task : order.passes) use(task, jitter.draw(random.passes));
  for (const TaskId task : order.others) use(task, jitter.draw(random.others));
}

}  // namespace allreplay
