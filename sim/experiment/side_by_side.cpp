#include "sim/experiment/side_by_side.hpp"

#include <mutex>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

namespace allreplay {

std::vector<Attempt> run_side_by_side(const std::vector<Scenario>& scenarios, const SideBySide& how) {
  namespace tbb = oneapi::tbb;
  std::vector<Attempt> attempts(scenarios.size());
  std::mutex mutex;
  const auto advance = [&] {
    if (!how.advance) return;
    const std::lock_guard lock(mutex);
    how.advance();
  };
  const auto attempt = [&](std::size_t i) {
    const bool jitter = scenarios[i].stragglers.jitter.has_value();
    try {
      Outcome outcome = run_among_others(scenarios[i], jitter ? std::function<void()>(advance) : nullptr);
      if (!how.keep_timelines) {
        outcome.result.episodes = {};
        outcome.result.unrolled = {};
      }
      attempts[i].outcome = std::move(outcome);
    } catch (const InputError& error) {
      attempts[i].wrong = error;
    }
    if (!jitter) advance();
  };
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(how.jobs));
  tbb::task_arena arena(how.jobs);
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, scenarios.size(), attempt, tbb::simple_partitioner()); });
  return attempts;
}

std::size_t steps_of(const Scenario& scenario) {
  return scenario.stragglers.jitter ? static_cast<std::size_t>(scenario.options.iterations) : 1;
}

}  // namespace allreplay
