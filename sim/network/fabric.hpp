// What transfers travel on: a price for those who plan, a bound, and a server for the engine. One collective among some
// workers on some network, in one of three fidelities: AlphaBetaFabric here, FluidFabric and MessageFabric in
// rounds_fabric.hpp. Task::service says the stage of a task.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/collective/comm_cost.hpp"
#include "sim/engine/server.hpp"
#include "sim/network/alpha_beta.hpp"

namespace allreplay {

/// Not for several threads at a time.
class Fabric {
 public:
  virtual ~Fabric() = default;

  /// What planners see: the time of the stage alone, in every fidelity a + b·M or a measured table.
  virtual CommCost price(Stage stage) const = 0;

  /// The time of the stage alone, as the server has it.
  virtual Time alone(Bytes bytes, Stage stage) const = 0;

  /// In no less time do any blocks of M bytes in all travel, in their first stage, or in one behind it. `several`:
  /// blocks may be in flight together, and the start-ups of some hide behind the bytes of others.
  virtual Time least(Bytes bytes, Stage stage, bool several) const = 0;
  virtual Time least_behind(Bytes bytes, Stage stage, bool several) const = 0;

  /// A fresh, idle network. REQUIRES: this fabric outlives it.
  virtual std::unique_ptr<Server> server() const = 0;

  /// Of one collective; 0 where none is sent one by one.
  virtual std::int64_t messages(Stage /*stage*/) const { return 0; }

  /// Events inside the networks that found the prices so far.
  virtual std::int64_t pricing_events() const { return 0; }
};

/// The closed form, on one channel.
class AlphaBetaFabric final : public Fabric {
 public:
  AlphaBetaFabric(StageCosts costs, Sharing sharing) : costs_(std::move(costs)), sharing_(sharing) {}

  CommCost price(Stage stage) const override { return cost(stage); }
  Time alone(Bytes bytes, Stage stage) const override { return cost(stage)(bytes); }
  Time least(Bytes bytes, Stage stage, bool) const override { return cost(stage).least(bytes); }
  Time least_behind(Bytes bytes, Stage stage, bool several) const override {
    return several ? cost(stage).transfer(bytes) : cost(stage).least(bytes);
  }
  std::unique_ptr<Server> server() const override;

 private:
  const CommCost& cost(Stage stage) const { return costs_[static_cast<std::size_t>(stage)]; }

  StageCosts costs_;
  Sharing sharing_;
};

}  // namespace allreplay
