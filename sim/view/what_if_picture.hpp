// A tornado chart of the gains of what-if changes.
#pragma once

#include "sim/experiment/what_if.hpp"
#include "sim/picture/bar_chart.hpp"

namespace allreplay {

BarChart what_if_chart(const WhatIf& answer);

}  // namespace allreplay
