// Simulates several scenarios, or changed requests, in parallel.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/base/farm/batch.hpp"
#include "sim/studies/experiment/request.hpp"
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

using RequestChange = std::function<void(Request&)>;

/// Sets an option.
RequestChange option_change(const std::string& name, const std::string& value);

/// Adds one of change_rows(), such as "bandwidth" "x2".
RequestChange flag_change(const std::string& name, const std::string& value);

/// Calls `run` with the scenarios of all requests that can be resolved. Returns the attempts in the order of the
/// requests: those of `run`, which keeps the order of its scenarios, and errors for the others.
std::vector<Attempt> attempt_requests(
    Library& library, std::span<const Request> requests,
    const std::function<std::vector<Attempt>(const std::vector<Scenario>&, const std::vector<std::size_t>&)>& run);

}  // namespace allreplay
