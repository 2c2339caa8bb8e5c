// Selects rows of a sweep's CSV for a report page and simulates them again, to draw their timelines.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "sim/output/report/report.hpp"
#include "sim/studies/experiment/sweep.hpp"
#include "sim/studies/results/sweep_result.hpp"

namespace allreplay {

/// A row with its new outcome, or the reason why it could not be simulated.
struct ChosenTimeline {
  std::size_t row = 0;
  std::size_t group = 0;  ///< index of the result's group
  bool fastest = false;   ///< the fastest at its group's largest size, otherwise the slowest
  std::variant<Outcome, std::string> outcome;
};

struct ChosenTimelines {
  std::vector<ChosenTimeline> timelines;  ///< timelines of a group are adjacent
  std::size_t left_out = 0;               ///< the number of further rows that could have been chosen
};

/// Chooses the fastest and the slowest row that fit at the largest size of each group, at most `most` rows in all.
/// A row that is not in the sweep, or whose iteration time has changed, gets the reason instead of an outcome.
ChosenTimelines choose_timelines(const Inputs& inputs, const SweepResult& result, const Sweep& sweep, std::size_t most);

/// Replays the race at the largest size of each group, as add_doubts() does, and ranks it again: at most eight groups.
/// Races of which a row cannot be simulated again stay as they are.
void doubt_races(const Inputs& inputs, SweepResult& result, const Sweep& sweep);

}  // namespace allreplay
