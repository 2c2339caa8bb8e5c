// What a sweep over jobs files says, in a table and in words.
#pragma once

#include <string>

#include "sim/core/screen.hpp"
#include "sim/experiment/result_table.hpp"

namespace allreplay {

/// A row for each job of each run, with what tells them apart; what all have in common stands above.
/// REQUIRES: the columns are job_columns().
std::string jobs_sweep_table(const ResultTable& result, const Screen& screen);

/// Of each jobs file of which there are several runs, which slows its jobs least, and which most.
std::string jobs_sweep_verdict(const ResultTable& result, const Screen& screen);

}  // namespace allreplay
