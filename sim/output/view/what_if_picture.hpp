// A tornado chart of the gains of what-if changes.
#pragma once

#include "sim/output/picture/row_chart.hpp"
#include "sim/studies/experiment/what_if.hpp"

namespace allreplay {

RowChart what_if_chart(const WhatIf& answer);

}  // namespace allreplay
