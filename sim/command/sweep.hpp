// What `sweep` is told, and its ways to be run.
#pragma once

#include <string>
#include <vector>

#include "sim/command/command.hpp"
#include "sim/experiment/sweep.hpp"

namespace allreplay {

/// What a sweep's file asks.
struct AskedSweep {
  SweepQuestions questions;
  Requests requests;  ///< which name files
  std::vector<std::string> jobs_files;
  bool of_jobs = false;  ///< its rows are of jobs that share a cluster
};

struct SweepArguments {
  std::string file, threads = "2", out;
  std::string collective, fidelity, codec;
  ChangeArguments changes;
  std::string shard, engine;
  std::vector<std::string> parts;
  std::string partition, time, chunk;  ///< slurm
  WinningArguments winning;
  bool resume = false, force = false, csv = false, json = false, table = false, no_reuse = false;
  bool dry_run = false, detach = false;  ///< slurm

  int thread_count() const;
  AskedSweep asked(const Inputs& inputs) const;
};

/// "3/40", or "auto": what Slurm or MPI says of this process. Throws InputError.
Share parse_shard(const std::string& text);

/// Hands the sweep in as an array job, and waits for it. Throws Incomplete where rows are missing in the end.
void sweep_on_slurm(Context& context, SweepArguments arguments);

}  // namespace allreplay
