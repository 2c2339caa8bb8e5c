// What `plan` prints.
#pragma once

#include <string>

#include "sim/core/screen.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

std::string plan_report(const Scenario& scenario, const Plan& plan, const Screen& screen = {});

}  // namespace allreplay
