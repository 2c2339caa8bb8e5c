// A job of a run as a row: the columns that a sweep over jobs files writes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/experiment/row.hpp"
#include "sim/jobs/jobs_run.hpp"

namespace allreplay {

/// What a column's cell is read from. The last three are there when the jobs have run.
struct JobRecord {
  const JobsFile& file;
  const JobEntry& entry;
  const Scenario& scenario;
  const std::string &placements, &search;  ///< of the run, as rows have them
  const FoundJobs* found = nullptr;
  std::size_t job = 0;  ///< its place in the file
  double wall_s = 0;    ///< how long all its runs took
};

/// All that there is to know of a column. Adding one is a row.
struct JobColumn {
  std::string_view name;
  std::string_view about;  ///< one line: its unit, and what it means
  Cell (*get)(const JobRecord& record);
  bool identifies = false;  ///< it is known before anything is simulated
};

/// In the order in which they are written.
std::span<const JobColumn> job_columns();

/// The columns that say of which job, and which run, a row is.
Row job_identity(const JobRecord& record);

/// All columns.
Row job_row(const JobRecord& record);

}  // namespace allreplay
