// How several jobs were measured: what whoever reads the result should know of that.
#pragma once

#include <string>
#include <vector>

#include "sim/jobs/jobs_run.hpp"

namespace allreplay {

/// A line each.
std::vector<std::string> jobs_notes(const JobsFile& file, const JobsResult& result);

/// Whether something slows the job's computing while it is measured, which its exposed communication then includes.
bool computes_slowly(const JobsFile& file, const JobResult& job);

}  // namespace allreplay
