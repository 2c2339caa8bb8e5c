#include "sim/experiment/run.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "sim/search/plan_of.hpp"

namespace allreplay {

Outcome run(Scenario scenario, std::function<void()> after_iteration) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome{std::move(scenario), {}, 0};
  outcome.scenario.after_iteration = std::move(after_iteration);
  try {
    outcome.result = simulate(outcome.scenario);
  } catch (const Stuck& error) {
    if (!outcome.scenario.given) throw;
    throw InputError({outcome.scenario.given->file, ""}, fmt::format("never ends: {}", error.what()),
                     "lanes that start no transfer before those that it waits for");
  } catch (const TimeOverflow& error) {  // each number was acceptable, all together are not
    throw InputError(outcome.scenario.cluster.network.place,
                     fmt::format("{} with {} workers and {}: {}", outcome.scenario.profile->name,
                                 outcome.scenario.workers, outcome.scenario.strategy->name, error.what()),
                     "smaller times, or a faster network");
  }
  outcome.scenario.after_iteration = nullptr;
  outcome.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

Row row_of(const Outcome& outcome) {
  return make_row(outcome.scenario, outcome.result.metrics, outcome.result.memory, outcome.wall_s);
}

}  // namespace allreplay
