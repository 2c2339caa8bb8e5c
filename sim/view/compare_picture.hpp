// Strategies side by side, as bars.
#pragma once

#include "sim/picture/bar_chart.hpp"
#include "sim/report/compare_report.hpp"

namespace allreplay {

/// The verdict, and a bar for each outcome, as the table has them, with how it stands: forward, backward, codec and
/// exposed communication make its iteration; the lower bound is a line across, where they are on one network. What
/// takes several times as long as most is cut off.
BarChart compare_chart(const Comparison& comparison);

}  // namespace allreplay
