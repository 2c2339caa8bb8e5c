// A scenario resolved, once: names are rows and enumerations, and what its transfers travel on is there.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sim/cluster/topology.hpp"
#include "sim/network/rounds_fabric.hpp"
#include "sim/training/collective_choice.hpp"
#include "sim/training/parallel_setup.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

struct Job {
  Scenario scenario;
  CollectiveChoice choice;
  std::shared_ptr<const Fabric> fabric;
  std::optional<Compression> compression;         ///< of a worker that nothing slows
  std::shared_ptr<const ParallelSetup> parallel;  ///< none where there is data parallelism alone
  std::string warning;                            ///< costs that no such network can have; "" if none
  // The detailed fidelities only:
  NetworkSetup setup;
  std::shared_ptr<const Topology> topology;
  std::shared_ptr<const RoundsFabric> rounds;  ///< the fabric without its launches
};

/// Throws InputError as require_possible() does.
Job job_of(Scenario scenario);

/// What planners see: the codec is as slow as the slowest worker.
BlockCost price_of_blocks(const Job& job);

/// The same, able to carry the plan's transfers. Throws InputError where the collective has no halves.
Job prepared_for(const Plan& plan, Job job);

/// unroll() with what the job says: its profile, fabric, codec and shards.
Unrolled unroll_job(const Job& job, const Plan& plan, const std::vector<WorkerClass>& classes);

/// How long a task takes its class in one iteration, drawn; none of what is no worker's. `random`: by class.
std::optional<Time> drawn(const Unrolled& unrolled, TaskId task, const std::vector<WorkerClass>& classes,
                          const Jitter& jitter, std::vector<Random>& random);

/// What of a task of the job's profile is collectives inside its layer.
Time inside_layers(const Job& job, const Label& label);

/// On a network that others share, or ranks of a pipeline: the job's workers feel what it sends, of a pipeline those of
/// a rank its reductions and gathers. Their streams are the system's from `first_stream` on, by class, `network` its
/// server, the job's calls that one's from `first_call` on. REQUIRES: the job outlives the system; the cluster says an
/// interference.
void add_interference(System& system, std::uint32_t first_stream, std::uint32_t network, CallId first_call,
                      const Job& job, const std::vector<WorkerClass>& classes);

}  // namespace allreplay
