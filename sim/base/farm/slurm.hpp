// Submits, cancels and counts Slurm jobs through Slurm's commands (sbatch, scancel, squeue, scontrol).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace allreplay {

/// The largest number of tasks in an array job: Slurm's MaxArraySize, or Slurm's default if scontrol does not report
/// it.
std::size_t most_array_tasks();

/// Submits a script and returns the job's number. Throws InputError with Slurm's message if Slurm refuses.
std::string submit_job(const std::string& script, const std::vector<std::string>& options = {});

void cancel_job(const std::string& job);

/// The number of tasks of these jobs that have not ended; nothing if Slurm does not answer.
std::optional<std::size_t> tasks_left(const std::vector<std::string>& jobs);

}  // namespace allreplay
