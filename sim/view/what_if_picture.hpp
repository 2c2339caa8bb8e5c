// What each change brings, as a tornado chart.
#pragma once

#include "sim/experiment/what_if.hpp"
#include "sim/picture/tornado_chart.hpp"

namespace allreplay {

TornadoChart what_if_chart(const WhatIf& answer);

}  // namespace allreplay
