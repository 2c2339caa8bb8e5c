// What each change brings, as a tornado chart.
#pragma once

#include "sim/experiment/what_if.hpp"
#include "sim/picture/bar_chart.hpp"

namespace allreplay {

BarChart what_if_chart(const WhatIf& answer);

}  // namespace allreplay
