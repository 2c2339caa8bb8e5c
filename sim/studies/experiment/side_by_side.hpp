// Simulates several scenarios in parallel.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/studies/experiment/run.hpp"

namespace allreplay {

/// The outcome of one scenario, or its error.
struct Attempt {
  std::optional<Outcome> outcome;
  std::optional<InputError> wrong;
};

struct SideBySide {
  int jobs = 1;                   ///< number of threads; results do not depend on it
  bool keep_timelines = true;     ///< else outcomes lack what only pictures need
  std::function<void()> advance;  ///< called steps_of() times per scenario, never concurrently
};

/// Returns the attempts in the order of the scenarios.
std::vector<Attempt> run_side_by_side(const std::vector<Scenario>& scenarios, const SideBySide& how);

/// The number of steps for progress: iterations with jitter, else one.
std::size_t steps_of(const Scenario& scenario);

}  // namespace allreplay
