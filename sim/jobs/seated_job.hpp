// A job of the file, resolved: where it sits, what its workers compute, and the plan of its strategy.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/jobs/jobs_file.hpp"
#include "sim/jobs/seats.hpp"
#include "sim/training/job.hpp"

namespace allreplay {

struct SeatedJob {
  std::string name;
  std::vector<NodeId> seats;          ///< by rank
  std::vector<std::string> hosts;     ///< their names
  std::vector<std::int64_t> batches;  ///< by rank; empty where nothing is scaled
  Job job;                            ///< laid on its own seats
  Plan plan;
  std::vector<WorkerClass> classes;
  std::vector<std::vector<std::size_t>> events;  ///< by class: those of JobsFile::events that its compute streams feel
  Time computing{0};                             ///< the longest of its kinds of worker, when nothing slows them
  std::optional<double> samples;                 ///< of an iteration, of all workers
  Time start{0};
  std::optional<std::int64_t> iterations;
};

/// Under which name the library knows the cluster of a file.
constexpr const char* shared_cluster = "the cluster of the jobs";

/// The cluster of a file, and what there is to sit on.
struct JobsCluster {
  Cluster cluster;
  Stragglers stragglers;  ///< by seat
  Seating seating;
  Fidelity fidelity = Fidelity::Fluid;
};

/// Throws InputError where the cluster cannot carry several jobs.
JobsCluster jobs_cluster(Library& library, const Files& files, const JobsFile& file);

/// What a job, on these seats, is before its strategy plans. Throws InputError.
Scenario scenario_of(Library& library, const JobsCluster& cluster, const JobEntry& entry,
                     std::span<const NodeId> seats);

/// A job of the file, or one like it, on these seats. Throws InputError.
SeatedJob seated_job(Library& library, const JobsFile& file, const JobsCluster& cluster, const JobEntry& entry,
                     std::vector<NodeId> seats);

/// Each where `choices` put it. Throws InputError.
std::vector<SeatedJob> seated_jobs(Library& library, const JobsFile& file, const JobsCluster& cluster,
                                   std::span<const SeatChoice> choices);

}  // namespace allreplay
