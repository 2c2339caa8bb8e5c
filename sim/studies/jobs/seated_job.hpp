// A job of a jobs file, resolved: its seats, its classes of workers, and the plan of its strategy.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"
#include "sim/inputs/workload/profile.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/studies/jobs/jobs_file.hpp"

namespace allreplay {

/// The seats of a cluster.
struct Seating {
  std::shared_ptr<const Topology> network;
  std::int64_t seats = 0;           ///< the first `seats` of the network's hosts
  bool whole_nodes = false;         ///< a job gets whole machines, not single GPUs
  std::vector<NodeId> spread = {};  ///< all seats, or all nodes, in the order of `spread`; empty: not supported
};

/// Returns the seats of each job's ranks. Jobs with a list of hosts choose first, then the others in the order of the
/// file. Throws InputError if a job finds too few seats, or a listed host is taken or unknown.
std::vector<std::vector<NodeId>> seat_jobs(const Seating& seating, std::span<const JobEntry> jobs,
                                           std::span<const SeatChoice> choices);

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

/// Returns each rank's samples in a micro-batch; empty if all profiles keep their batch size. `own`: profile of the
/// job; `profiles`: by kind of worker. Throws InputError if a needed batch size is unknown, or a worker gets no sample.
std::vector<std::int64_t> batches_of(const JobEntry& job, const Profile& own,
                                     std::span<const Shared<Profile>> profiles);

/// Returns the job's kinds of worker; a job without any counts as one kind.
std::vector<WorkerKind> kinds_of(const JobEntry& job);

/// Throws InputError at `place`, naming the first difference, unless both have the same layers and tensors in order.
void require_same_model(const Profile& own, const Profile& other, const SourceLocation& place);

/// Scales the layers' times to another batch size; the update stays. REQUIRES: the profile has a batch size.
Profile with_batch(const Profile& profile, std::int64_t batch);

}  // namespace allreplay
