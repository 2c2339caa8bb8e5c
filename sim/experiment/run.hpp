// One scenario, simulated and timed.
#pragma once

#include "sim/experiment/row.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

struct Outcome {
  Scenario scenario;
  Result result;
  double wall_s = 0;
};

Outcome run(Scenario scenario);

Row row_of(const Outcome& outcome);

}  // namespace allreplay
