// A tornado chart of the gains of what-if changes.
#pragma once

#include "sim/output/picture/bar_chart.hpp"
#include "sim/studies/experiment/what_if.hpp"

namespace allreplay {

BarChart what_if_chart(const WhatIf& answer);

}  // namespace allreplay
