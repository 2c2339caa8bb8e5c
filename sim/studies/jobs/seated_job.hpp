// A job of a jobs file, resolved: its seats, its classes of workers, and the plan of its strategy.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/replay/training/job.hpp"
#include "sim/studies/jobs/jobs_file.hpp"
#include "sim/studies/jobs/seats.hpp"

namespace allreplay {

struct SeatedJob {
  std::string name;
  std::vector<NodeId> seats;          ///< by rank
  std::vector<std::string> hosts;     ///< names of the seats
  std::vector<std::int64_t> batches;  ///< by rank; empty if profiles keep their batch size
  Job job;                            ///< placed on `seats`
  Plan plan;
  std::vector<WorkerClass> classes;
  std::vector<std::vector<std::size_t>> events;  ///< by class: indices of the JobsFile::events that slow it down
  Time computing{0};              ///< in an iteration, of the slowest class, without stragglers and events
  std::optional<double> samples;  ///< of all workers, in an iteration
  Time start{0};
  std::optional<std::int64_t> iterations;
};

/// The name by which the library knows the cluster of a jobs file.
constexpr const char* shared_cluster = "the cluster of the jobs";

/// The cluster of a file, and its seats.
struct JobsCluster {
  Cluster cluster;
  Stragglers stragglers;  ///< by seat
  Seating seating;
  Fidelity fidelity = Fidelity::Fluid;
};

/// Throws InputError if the cluster cannot run several jobs.
JobsCluster jobs_cluster(Library& library, const Files& files, const JobsFile& file);

/// Resolves a job, on these seats, to a scenario, before its strategy makes a plan. Throws InputError.
Scenario scenario_of(Library& library, const JobsCluster& cluster, const JobEntry& entry,
                     std::span<const NodeId> seats);

/// Resolves a job of the file, or a variant of it, on these seats. Throws InputError.
SeatedJob seated_job(Library& library, const JobsFile& file, const JobsCluster& cluster, const JobEntry& entry,
                     std::vector<NodeId> seats);

/// Resolves all jobs, on the seats that `choices` select. Throws InputError.
std::vector<SeatedJob> seated_jobs(Library& library, const JobsFile& file, const JobsCluster& cluster,
                                   std::span<const SeatChoice> choices);

}  // namespace allreplay
