// Several jobs' collectives on the links of one network.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sim/engine/server.hpp"
#include "sim/network/launch.hpp"
#include "sim/network/rounds_fabric.hpp"

namespace allreplay {

/// What one job sends: the calls of its fabric, laid on its own view of the network that all share.
struct Tenant {
  const RoundsFabric* fabric = nullptr;
  const NetworkSetup* setup = nullptr;
  const Topology* topology = nullptr;
  Time launch{0};
};

struct SharedNetwork {
  std::unique_ptr<Server> server;
  std::vector<CallId> first_call;  ///< by job: its calls are numbered from here on
  // What the launchers refer to:
  std::unique_ptr<std::vector<std::optional<Time>>> launch;  ///< by call
  std::unique_ptr<Legs> legs;
};

/// Idle. REQUIRES: one fidelity, one start-up and one speed of reduction; at least one tenant.
SharedNetwork shared_network(std::span<const Tenant> tenants);

}  // namespace allreplay
