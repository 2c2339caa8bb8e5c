// Sweeps over jobs files: every combination of a sweep's lists, each in the place of what the files say of their jobs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/experiment/sweep.hpp"
#include "sim/jobs/jobs_run.hpp"

namespace allreplay {

struct JobsSweep {
  /// Where all jobs of a file sit.
  struct Placements {
    std::function<void(JobsFile& file)> seat;  ///< throws InputError for a job that the file does not have
    std::string text;                          ///< as rows have it; "": as the file says
  };

  struct Base {
    JobsFile file;
    std::uint64_t contents = 0;  ///< their digest
  };
  struct Search {
    JobsSearch search;
    std::string text;  ///< as rows have it
  };

  std::vector<std::string> files;  ///< that it names
  std::vector<Base> bases;
  Requests requests;  ///< what all jobs have instead of their own; what one does not say stays
  std::vector<Placements> placements;
  std::vector<Search> searches;
  Inputs inputs;

  /// Runs: of each file with each request, placement and search, the last fastest.
  std::size_t size() const { return bases.size() * requests.size() * placements.size() * searches.size(); }
};

/// Reads the sweep file's contents, and the jobs files that it names. Throws InputError.
JobsSweep read_jobs_sweep(const Inputs& inputs, const Json& json, const SweepOverrides& instead = {});

/// A row for each job of each run.
SweepQuestions questions_of(JobsSweep sweep);

}  // namespace allreplay
