// Sweeps over jobs files. Each list of the sweep overrides a setting of all jobs; every combination is run.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/experiment/sweep.hpp"
#include "sim/studies/jobs/jobs_run.hpp"
#include "sim/studies/results/row.hpp"

namespace allreplay {

struct JobsSweep {
  /// Overrides the seats of a file's jobs.
  struct Placements {
    std::function<void(JobsFile& file)> seat;  ///< throws InputError if the file lacks a named job
    std::string text;                          ///< as written into rows; "": the seats in the file
  };

  struct Base {
    JobsFile file;
    std::uint64_t contents = 0;  ///< digest of the file's contents
  };
  struct Search {
    JobsSearch search;
    std::string text;  ///< as written into rows
  };

  std::vector<std::string> files;  ///< the jobs files that the sweep names
  std::vector<Base> bases;
  Requests requests;  ///< overrides for all jobs; fields that are not set change nothing
  std::vector<Placements> placements;
  std::vector<Search> searches;
  Inputs inputs;

  /// The number of runs: files × requests × placements × searches, of which the last vary fastest.
  std::size_t size() const { return bases.size() * requests.size() * placements.size() * searches.size(); }
};

/// Reads a sweep and the jobs files that it names. Throws InputError.
JobsSweep read_jobs_sweep(const Inputs& inputs, const Json& json, const SweepOverrides& instead = {});

/// The runs of the sweep. Each gives one row per job.
SweepQuestions questions_of(JobsSweep sweep);

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
