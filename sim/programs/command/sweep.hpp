// The arguments of `sweep`, and running it on Slurm.
#pragma once

#include <string>
#include <vector>

#include "sim/programs/command/command.hpp"
#include "sim/studies/experiment/sweep.hpp"

namespace allreplay {

/// A sweep file that was read.
struct AskedSweep {
  SweepQuestions questions;
  Requests requests;  ///< to find its input files
  std::vector<std::string> jobs_files;
  bool of_jobs = false;  ///< its rows describe jobs that share a cluster
};

struct SweepArguments {
  std::string file, threads = "2", out, tidy;
  std::string collective, fidelity, codec, seeds;
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

/// Parses "3/40", or "auto": the task of a Slurm array, or the MPI rank, that this process is. Throws InputError.
Share parse_shard(const std::string& text);

/// Submits the sweep as a Slurm array job and waits for it. Throws Incomplete if rows are missing afterwards.
void sweep_on_slurm(Context& context, SweepArguments arguments);

}  // namespace allreplay
