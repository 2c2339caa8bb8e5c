// Slurm, by its own commands.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace allreplay {

/// How many tasks an array may have: Slurm's MaxArraySize, or its default where nobody can be asked.
std::size_t most_array_tasks();

/// Hands in a script. Returns the job's number. Throws InputError with Slurm's own words when it refuses.
std::string submit_job(const std::string& script, const std::vector<std::string>& options = {});

void cancel_job(const std::string& job);

/// How many tasks of these jobs are not over; nothing while Slurm does not answer.
std::optional<std::size_t> tasks_left(const std::vector<std::string>& jobs);

}  // namespace allreplay
