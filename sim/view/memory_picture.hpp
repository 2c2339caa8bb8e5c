// What memory buys: the picture that `recommend --plot` draws.
#pragma once

#include <vector>

#include "sim/experiment/layouts.hpp"
#include "sim/experiment/recommend.hpp"
#include "sim/picture/chart.hpp"

namespace allreplay {

/// Iteration time against a worker's memory: every setting that was tried, a colour for each strategy, and a line
/// through those that nothing beats in both (the Pareto front); another where the memory that there is ends. REQUIRES:
/// at least one.
Chart memory_chart(const std::vector<Advice>& ranking);

/// The same of layouts, a colour for each strategy and schedule. REQUIRES: at least one.
Chart memory_chart(const LayoutAdvice& advice, const LayoutSearch& search);

}  // namespace allreplay
