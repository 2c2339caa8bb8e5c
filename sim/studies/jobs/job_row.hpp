// The columns of a sweep over jobs files: one row for each job of each run.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/studies/experiment/row.hpp"
#include "sim/studies/jobs/jobs_run.hpp"

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

/// A column. Adding one takes a row in job_row.cpp.
struct JobColumn {
  std::string_view name;
  std::string_view about;  ///< one line: its unit, and what it means
  Cell (*get)(const JobRecord& record);
  bool identifies = false;  ///< known before anything is simulated
};

/// Returns the columns in the order in which they are written.
std::span<const JobColumn> job_columns();

/// Returns the identifying columns: which job, in which run.
Row job_identity(const JobRecord& record);

Row job_row(const JobRecord& record);

}  // namespace allreplay
