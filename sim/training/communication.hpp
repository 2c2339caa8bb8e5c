// What a scenario's blocks travel on: the cost that planners see, and the server that the engine sees.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sim/cluster/topology.hpp"
#include "sim/collective/comm_cost.hpp"
#include "sim/engine/server.hpp"
#include "sim/network/network_model.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

/// Which algorithm, in which fidelity: the scenario's own words, or else the codec's, or else the cluster's.
struct Carrier {
  const Algorithm* algorithm = nullptr;
  std::string fidelity;
  CollectiveOptions options;  ///< with what the topology decides: the levels of a BCube, the groups of a hierarchy
};

/// Throws InputError for names that nobody knows, and for a detailed fidelity without a topology.
Carrier carrier_of(const Scenario& scenario);

/// Whether payloads are gathered. There is no sum to scatter then, and every block travels in one stage.
bool gathers(const Carrier& carrier);

/// The name of the option on which this carrier's times depend; "" if there is none.
std::string_view option_of(const Carrier& carrier);

/// Throws InputError, before anything is simulated, for all that carrier_of() does, for a collective that cannot carry
/// the gradients if there are any, for costs that the cluster file does not give, and for numbers of workers that the
/// algorithm or the topology cannot have.
void require_possible(const Scenario& scenario);

struct Communication {
  Carrier carrier;
  CommCost cost;      ///< of an all-reduce alone: a + b·M in every fidelity, or a measured table; what planners see
  StageCosts stages;  ///< alpha-beta only
  std::optional<Compression> compression;  ///< of a worker that nothing slows
  std::string warning;                     ///< costs that no such network can have; "" if none
  // The detailed fidelities only:
  NetworkSetup setup;
  std::shared_ptr<const Topology> topology;
  std::shared_ptr<const NetworkModel> model;
};

/// Throws InputError as require_possible() does.
Communication communication_of(const Scenario& scenario);

/// What planners see: the codec is as slow as the slowest worker.
BlockCost price_of_blocks(const Scenario& scenario, const Communication& communication);

/// The same, able to carry the plan's stages.
Communication prepared_for(const Plan& plan, Communication communication);

/// The least time in which any blocks of these bytes in all can travel, in the stages and the window of `plan`.
/// REQUIRES: prepared_for(plan).
Time least_time(const Communication& communication, const Plan& plan, Bytes bytes);

/// A fresh, idle network. REQUIRES: `communication`, prepared for the plan, outlives it.
std::unique_ptr<Server> make_network(const Communication& communication, Sharing sharing);

}  // namespace allreplay
