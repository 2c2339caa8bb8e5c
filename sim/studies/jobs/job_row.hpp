// The columns of a sweep over jobs files: one row for each job of each run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/jobs/jobs_run.hpp"
#include "sim/studies/results/row.hpp"

namespace allreplay {

/// The source of a row's cells. The last three members are set once the jobs have run.
struct JobRecord {
  const JobsFile& file;
  const JobEntry& entry;
  const Scenario& scenario;
  const std::string &placements, &search;  ///< of the run, as written into its rows
  const FoundJobs* found = nullptr;
  std::size_t job = 0;  ///< index in the file
  double wall_s = 0;    ///< real time that all runs of the search took
};

/// Returns the keys of the columns in the order in which they are written.
std::vector<std::string_view> job_keys();

/// Returns the identifying columns: which job, in which run.
Row job_identity(const JobRecord& record);

Row job_row(const JobRecord& record);

/// Returns the columns that were measured of the job itself.
Row job_times(const JobResult& job);

}  // namespace allreplay
