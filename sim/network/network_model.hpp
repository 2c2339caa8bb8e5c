// A collective on a topology in one of the detailed fidelities: its server, and its price alone.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/collective/algorithm.hpp"
#include "sim/collective/comm_cost.hpp"
#include "sim/engine/server.hpp"
#include "sim/network/message.hpp"

namespace allreplay {

enum class Fidelity : std::uint8_t { Fluid, Message };

struct NetworkSetup {
  Fidelity fidelity = Fidelity::Fluid;
  const Algorithm* algorithm = nullptr;
  std::int64_t workers = 2;
  double alpha = 0;  ///< per message, on top of its links; seconds
  double gamma = 0;  ///< seconds per byte reduced
  CollectiveOptions options;
  bool split = false;  ///< whether blocks travel as reduce-scatters and all-gathers, too
  bool reuse = true;   ///< collectives that run alone are priced once
  Place place;         ///< of complaints about the collective
};

/// Lays a collective on a topology once, for any number of servers and prices. Not for several threads at a time.
class NetworkModel {
 public:
  /// REQUIRES: at least as many hosts as workers; `topology` outlives the constructor only. Throws InputError where the
  /// algorithm cannot serve that many workers.
  NetworkModel(const NetworkSetup& setup, const Topology& topology);
  ~NetworkModel();

  /// A fresh, idle network; Task::service says the stage of a task. REQUIRES: this model outlives it.
  std::unique_ptr<Server> server() const;

  /// The time of the stage alone; simulated, and remembered. REQUIRES, here and below: AllReduce, or `split`.
  Time alone(Bytes bytes, Stage stage = Stage::AllReduce) const;

  /// What `fluid` takes for a collective alone, a + b·M but for a rounding per round: the planners' price in both
  /// fidelities, and exact in `fluid`.
  CommCost cost(Stage stage = Stage::AllReduce) const;

  /// No number of collectives in flight brings M bytes through in less: the larger of rounds·(α + the least route
  /// latency) and the busiest link's bytes / bandwidth.
  Time least(Bytes bytes, Stage stage = Stage::AllReduce) const;

  /// Of one collective.
  std::int64_t messages(Stage stage = Stage::AllReduce) const;

  /// Events inside the networks that found the prices so far.
  std::int64_t pricing_events() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// "fluid" or "message". Throws InputError at `place`.
Fidelity find_fidelity(std::string_view name, const Place& place);

}  // namespace allreplay
