// Strategies side by side, as bars.
#pragma once

#include <vector>

#include "sim/picture/bar_chart.hpp"
#include "sim/report/report.hpp"

namespace allreplay {

/// A bar for each outcome, in their order: forward, backward, codec and exposed communication make its iteration; the
/// lower bound is a line across, where they are on one network. REQUIRES: as compare_report().
BarChart compare_chart(const std::vector<Outcome>& outcomes);

}  // namespace allreplay
