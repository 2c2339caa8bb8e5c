// One scenario, simulated and timed.
#pragma once

#include <functional>

#include "sim/experiment/row.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

struct Outcome {
  Scenario scenario;
  Result result;
  double wall_s = 0;
};

/// `after_iteration` is called, if there is jitter, after each of the iterations that are replayed.
Outcome run(Scenario scenario, std::function<void()> after_iteration = {});

Row row_of(const Outcome& outcome);

}  // namespace allreplay
