#include "sim/studies/experiment/side_by_side.hpp"

#include <algorithm>
#include <mutex>

#include "sim/base/farm/batch.hpp"

namespace allreplay {

std::vector<Attempt> run_side_by_side(const std::vector<Scenario>& scenarios, const SideBySide& how) {
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
      Outcome outcome = run_alongside(scenarios[i], jitter ? std::function<void()>(advance) : nullptr);
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
  run_in_threads(how.jobs, scenarios.size(), attempt);
  return attempts;
}

std::size_t steps_of(const Scenario& scenario) {
  const std::size_t seeds = std::max<std::size_t>(1, scenario.seeds.size());
  return scenario.stragglers.jitter ? static_cast<std::size_t>(scenario.options.iterations) * seeds : 1;
}

}  // namespace allreplay
