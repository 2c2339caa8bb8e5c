// A job is a resolved scenario: table rows and enumerations instead of names, and the fabric for its transfers.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sim/inputs/cluster/topology.hpp"
#include "sim/replay/network/rounds_fabric.hpp"
#include "sim/replay/training/collective_choice.hpp"
#include "sim/replay/training/parallel_setup.hpp"
#include "sim/replay/training/simulate.hpp"

namespace allreplay {

struct Job {
  Scenario scenario;
  CollectiveChoice choice;
  std::shared_ptr<const Fabric> fabric;
  std::optional<Compression> compression;         ///< of a worker without slowdown
  std::shared_ptr<const ParallelSetup> parallel;  ///< null if there is only data parallelism
  std::string warning;                            ///< caveats_of(); "" if none
  // Only in the detailed fidelities:
  NetworkSetup setup;
  std::shared_ptr<const Topology> topology;
  std::shared_ptr<const RoundsFabric> rounds;  ///< the fabric without its launches
};

/// Lays the job's calls on its topology, unless an equal job did. REQUIRES: a detailed fidelity.
std::shared_ptr<const RoundsFabric> laid(const Job& job);

/// Resolves the scenario. Throws InputError like require_possible().
Job job_of(Scenario scenario);

/// Returns the cost that planners see, with the codec as slow as on the slowest worker.
BlockCost price_of_blocks(const Job& job);

/// Returns the job with a fabric that offers the plan's calls. Throws InputError if the collective has no halves.
Job prepared_for(const Plan& plan, Job job);

/// Calls unroll() with the job's profile, fabric, codec and shards. `exchanging`: token exchanges take their time; only
/// for plans of pipelines, whose classes have the job's profile.
Unrolled unroll_job(const Job& job, const Plan& plan, const std::vector<WorkerClass>& classes, bool exchanging = true);

/// Returns the part of a task's time that collectives inside its layer take, without token exchanges in a pair.
Time inside_layers(const Job& job, const Label& label);

/// Returns the token exchanges of the task's pass, whether they are a part of its time or follow it.
Time exchanges_of(const Job& job, const Label& label);

/// Slows the job's workers while the job's own transfers are in flight on a network that several jobs, or ranks, share.
/// In a pipeline, a rank is slowed by its own reductions and gathers. In the system, the job's streams start at
/// `first_stream`, by class, `network` is the network's server, and the job's calls start at `first_call`. REQUIRES:
/// the job outlives the system; the cluster has an interference.
void add_interference(System& system, std::uint32_t first_stream, std::uint32_t network, CallId first_call,
                      const Job& job, const std::vector<WorkerClass>& classes);

}  // namespace allreplay
