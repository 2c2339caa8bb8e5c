#include "sim/experiment/run.hpp"

#include <chrono>
#include <utility>

namespace allreplay {

Outcome run(Scenario scenario) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome{std::move(scenario), {}, 0};
  outcome.result = simulate(outcome.scenario);
  outcome.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

Row row_of(const Outcome& outcome) { return make_row(identity(outcome.scenario), outcome.result.metrics, outcome.wall_s); }

}  // namespace allreplay
