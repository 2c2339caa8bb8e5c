#include "sim/studies/experiment/run.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/json_value.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/possible.hpp"
#include "sim/studies/experiment/over_seeds.hpp"
#include "sim/studies/search/plan_of.hpp"

namespace allreplay {

Outcome run(Scenario scenario, const std::function<void()>& after_step, const Watch& watch) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome{std::move(scenario), {}, 0};
  const bool counts_iterations = outcome.scenario.stragglers.jitter.has_value();
  const auto replay = [&](const Scenario& one) {
    Result result = simulate(one, watch);
    if (after_step && !counts_iterations) after_step();
    return result;
  };
  if (counts_iterations) outcome.scenario.after_iteration = after_step;
  try {
    if (outcome.scenario.seeds.empty()) {
      outcome.result = replay(outcome.scenario);
    } else {
      MeanOverSeeds mean;
      for (const Scenario& one : each_seed(outcome.scenario)) mean.add(replay(one));
      outcome.result = std::move(mean).take(outcome.scenario.seeds.size());
    }
  } catch (const Stuck& error) {
    if (!outcome.scenario.given) throw;
    throw InputError({outcome.scenario.given->file, ""}, fmt::format("never ends: {}", error.what()),
                     "lanes that start no transfer before those that it waits for");
  } catch (const TimeOverflow& error) {  // each number is valid, but a combination of them is too large
    throw InputError(blamed_for_times(outcome.scenario),
                     fmt::format("{} with {} workers and {}: {}", outcome.scenario.profile->name,
                                 outcome.scenario.workers, outcome.scenario.strategy->name, error.what()),
                     "smaller times, or a faster network");
  }
  outcome.scenario.after_iteration = nullptr;
  outcome.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

std::size_t steps_of(const Scenario& scenario) {
  const auto iterations = static_cast<std::size_t>(scenario.options.iterations);
  return replays_of(scenario) * (scenario.stragglers.jitter ? iterations : 1);
}

Outcome run_alongside(const Scenario& scenario, const std::function<void()>& after_step) try {
  return run(scenario, after_step);
} catch (const NothingFits&) {
  Scenario unlimited = scenario;
  unlimited.options.memory.limit.reset();
  Outcome outcome = run(std::move(unlimited), after_step);
  outcome.scenario = scenario;
  return outcome;
}

}  // namespace allreplay
