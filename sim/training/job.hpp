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
  std::shared_ptr<const Fabric> beneath;          ///< pipelines: of sends, which no launch precedes
  std::optional<Compression> compression;         ///< of a worker that nothing slows
  std::shared_ptr<const ParallelSetup> parallel;  ///< none where there is data parallelism alone
  std::string warning;                            ///< costs that no such network can have; "" if none
  // The detailed fidelities only:
  NetworkSetup setup;
  std::shared_ptr<const Topology> topology;
  std::shared_ptr<const RoundsFabric> rounds;  ///< the fabric beneath its launches
};

/// Throws InputError as require_possible() does.
Job job_of(Scenario scenario);

/// What planners see: the codec is as slow as the slowest worker.
BlockCost price_of_blocks(const Job& job);

/// The same, able to carry the plan's transfers. Throws InputError where the collective has no halves.
Job prepared_for(const Plan& plan, Job job);

}  // namespace allreplay
