// What a scenario's transfers travel on.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sim/cluster/topology.hpp"
#include "sim/network/rounds_fabric.hpp"
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

/// The names of the options on which this carrier's times depend.
std::vector<std::string_view> options_of(const Carrier& carrier);

/// Throws InputError, before anything is simulated, for all that carrier_of() does, for a collective that cannot carry
/// the gradients if there are any, for costs that the cluster file does not give, and for numbers of workers that the
/// algorithm or the topology cannot have.
void require_possible(const Scenario& scenario);

struct Communication {
  Carrier carrier;
  std::shared_ptr<const Fabric> fabric;
  std::optional<Compression> compression;  ///< of a worker that nothing slows
  std::string warning;                     ///< costs that no such network can have; "" if none
  Time launch{0};
  // The detailed fidelities only:
  NetworkSetup setup;
  std::shared_ptr<const Topology> topology;
  std::shared_ptr<const RoundsFabric> rounds;  ///< the fabric beneath its launches

  bool detailed() const { return topology != nullptr; }
};

/// Throws InputError as require_possible() does.
Communication communication_of(const Scenario& scenario);

/// What planners see: the codec is as slow as the slowest worker.
BlockCost price_of_blocks(const Scenario& scenario, const Communication& communication);

/// The same, able to carry the plan's transfers. Throws InputError where the collective has no halves.
Communication prepared_for(const Plan& plan, Communication communication);

/// The least time in which any blocks of these bytes in all can travel, in the stages and with as many in flight as in
/// `plan`. REQUIRES: prepared_for(plan).
Time least_time(const Fabric& fabric, const Plan& plan, Bytes bytes);

}  // namespace allreplay
