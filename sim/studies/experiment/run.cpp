#include "sim/studies/experiment/run.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/json_value.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/studies/experiment/over_seeds.hpp"
#include "sim/studies/search/plan_of.hpp"

namespace allreplay {

Outcome run(Scenario scenario, std::function<void()> after_iteration) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome{std::move(scenario), {}, 0};
  outcome.scenario.after_iteration = std::move(after_iteration);
  try {
    if (outcome.scenario.seeds.empty()) {
      outcome.result = simulate(outcome.scenario);
    } else {
      MeanOverSeeds mean;
      for (const Scenario& one : each_seed(outcome.scenario)) mean.add(simulate(one));
      outcome.result = std::move(mean).take(outcome.scenario.seeds.size());
    }
  } catch (const Stuck& error) {
    if (!outcome.scenario.given) throw;
    throw InputError({outcome.scenario.given->file, ""}, fmt::format("never ends: {}", error.what()),
                     "lanes that start no transfer before those that it waits for");
  } catch (const TimeOverflow& error) {  // each number is valid, but a combination of them is too large
    throw InputError(outcome.scenario.cluster.network.place,
                     fmt::format("{} with {} workers and {}: {}", outcome.scenario.profile->name,
                                 outcome.scenario.workers, outcome.scenario.strategy->name, error.what()),
                     "smaller times, or a faster network");
  }
  outcome.scenario.after_iteration = nullptr;
  outcome.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

Outcome run_alongside(const Scenario& scenario, std::function<void()> after_iteration) try {
  return run(scenario, after_iteration);
} catch (const NothingFits&) {
  Scenario unlimited = scenario;
  unlimited.options.memory.limit.reset();
  Outcome outcome = run(std::move(unlimited), std::move(after_iteration));
  outcome.scenario = scenario;
  return outcome;
}

}  // namespace allreplay
