// What a scenario's blocks travel on: the cost that planners see, and the server that the engine sees.
#pragma once

#include <memory>
#include <string>

#include "sim/collective/comm_cost.hpp"
#include "sim/engine/server.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

struct Communication {
  std::string collective;
  std::string fidelity;
  CommCost cost;      ///< of an all-reduce
  StageCosts stages;  ///< of each stage
  std::string warning;  ///< costs that no such network can have; "" if none
};

/// Throws InputError for names that nobody knows and costs that the cluster file does not give.
Communication communication_of(const Scenario& scenario);

/// The least time in which any blocks of these bytes in all can travel, in the stages and the window of `plan`.
Time least_time(const Communication& communication, const Plan& plan, Bytes bytes);

/// A fresh, idle network.
std::unique_ptr<Server> make_network(const Scenario& scenario, const Communication& communication);

}  // namespace allreplay
