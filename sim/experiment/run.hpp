// One scenario, simulated and timed.
#pragma once

#include "sim/experiment/report.hpp"
#include "sim/experiment/row.hpp"

namespace allreplay {

Outcome run(Scenario scenario);

Row row_of(const Outcome& outcome);

}  // namespace allreplay
