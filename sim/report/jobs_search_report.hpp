// What a search for placements or later starts of several jobs found.
#pragma once

#include <string>
#include <vector>

#include "sim/jobs/jobs_run.hpp"

namespace allreplay {

/// Slow-downs are printed with three decimals: less is rounding.
constexpr double least_slowdown = 5e-4;

/// A line each: what there was before, what was found, and with which placements and offsets.
std::vector<std::string> jobs_search_lines(const JobsResult& result, const FoundJobs& found);

}  // namespace allreplay
