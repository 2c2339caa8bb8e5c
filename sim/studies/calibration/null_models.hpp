// Predictions that ignore schedules, with which every prediction is compared.
#pragma once

#include "sim/replay/training/simulate.hpp"

namespace allreplay {

/// Iteration times, in seconds.
struct NullModels {
  double no_communication = 0;  ///< of computation alone
  double no_overlap = 0;        ///< of computation followed by communication
};

inline NullModels null_models(const Metrics& metrics) {
  const double computing = metrics.iteration_s - metrics.straggler_s - metrics.exposed_comm_s;
  return {computing, computing + metrics.comm_busy_s};
}

/// Ignoring communication must miss a point by more than this part, or the point does not test a schedule.
inline constexpr double communication_matters = 0.05;

}  // namespace allreplay
