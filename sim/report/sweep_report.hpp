// What people read of a sweep: a table of any rows, and who wins.
#pragma once

#include <string>

#include "sim/core/screen.hpp"
#include "sim/report/sweep_result.hpp"

namespace allreplay {

/// A line for each row; what all share is said once.
std::string sweep_table(const SweepResult& result, const Screen& screen = {});

/// Who wins, and what to know of the rows.
std::string sweep_verdict(const SweepResult& result, const Screen& screen = {});

}  // namespace allreplay
