// The timelines of a report: rows of a sweep's CSV, simulated again.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/experiment/sweep.hpp"
#include "sim/report/report.hpp"
#include "sim/report/sweep_result.hpp"

namespace allreplay {

/// One row simulated again, or why it could not be.
struct ChosenTimeline {
  std::size_t row = 0;
  std::size_t group = 0;  ///< of the result
  bool fastest = false;   ///< or slowest, of its group's largest size
  std::variant<Outcome, std::string> outcome;
};

struct ChosenTimelines {
  std::vector<ChosenTimeline> timelines;  ///< those of one group stand together
  std::size_t left_out = 0;               ///< how many more could have been chosen
};

/// The fastest and the slowest row, of those that fit, at the largest size of each group, at most `most` rows in all. A
/// row names its profile and cluster; `sweep`, where given, says which files these are. A row whose names lead nowhere,
/// or to another iteration time than the row's, gets the reason instead of an outcome.
ChosenTimelines choose_timelines(const Inputs& inputs, const SweepResult& result, const std::optional<Sweep>& sweep,
                                 std::size_t most);

}  // namespace allreplay
