// The metrics of an iteration of data-parallel training, from its measured period.
#pragma once

#include "sim/replay/training/simulate.hpp"

namespace allreplay {

struct Period {
  double iteration_s;
  double comm_busy_s;
  double lower_bound_s;
  double without_stragglers_s = iteration_s;
};

/// Returns 0 for rounding errors: below half the resolution of times, 1 ps.
double without_rounding(double seconds);

Metrics metrics_of(const Scenario& scenario, const Plan& plan, const Period& period, const Unrolled& unrolled);

}  // namespace allreplay
