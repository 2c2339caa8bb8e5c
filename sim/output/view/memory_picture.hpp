// The chart of iteration time over memory that `recommend --plot` draws.
#pragma once

#include <vector>

#include "sim/output/picture/chart.hpp"
#include "sim/studies/experiment/layouts.hpp"
#include "sim/studies/experiment/recommend.hpp"

namespace allreplay {

/// Returns iteration times over a worker's memory for all settings tried, a colour for each strategy, with a line
/// through the Pareto front and one at the memory limit. REQUIRES: at least one setting.
Chart memory_chart(const std::vector<Advice>& ranking);

/// Returns the same chart for layouts, a colour for each strategy and schedule. REQUIRES: at least one layout.
Chart memory_chart(const LayoutAdvice& advice, const LayoutSearch& search);

}  // namespace allreplay
