// Several scenarios, simulated on several cores.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/experiment/run.hpp"

namespace allreplay {

/// What came of one scenario: its outcome, or what it cannot do.
struct Attempt {
  std::optional<Outcome> outcome;
  std::optional<InputError> wrong;
};

struct SideBySide {
  int jobs = 1;                   ///< how many at a time; results do not depend on it
  bool keep_timelines = true;     ///< else outcomes come without what only pictures need
  std::function<void()> advance;  ///< called, one call at a time, as often as steps_of() says
};

/// In the order of the scenarios.
std::vector<Attempt> run_side_by_side(const std::vector<Scenario>& scenarios, const SideBySide& how);

/// How many steps of equal length it is: iterations with jitter, else one.
std::size_t steps_of(const Scenario& scenario);

}  // namespace allreplay
