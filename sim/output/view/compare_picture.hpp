// The bar chart that `compare` draws: one bar for each strategy.
#pragma once

#include "sim/output/picture/row_chart.hpp"
#include "sim/output/report/compare_report.hpp"

namespace allreplay {

/// Returns the verdict and a bar for each outcome in the table's order, divided into computation, codec, waiting and
/// exposed communication, and labelled with the outcome's standing. If all run on one network, a line across marks the
/// lower bound.
RowChart compare_chart(const Comparison& comparison);

}  // namespace allreplay
