// The report of the command `plan`.
#pragma once

#include "sim/output/report/view.hpp"
#include "sim/replay/training/simulate.hpp"

namespace allreplay {

/// A summary of the plan; the plan itself is written by formats/interchange/plan_file.hpp.
JsonValue plan_summary(const Scenario& scenario, const Plan& plan);

const View& plan_view();

}  // namespace allreplay
