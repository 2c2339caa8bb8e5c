// What transfers travel on: a price for those who plan, a bound, and a server for the engine. One collective among some
// workers, or among groups of them, on some network, in one of three fidelities: AlphaBetaFabric here, FluidFabric and
// MessageFabric in rounds_fabric.hpp. Task::service says which call a task is (service_of).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "sim/collective/comm_cost.hpp"
#include "sim/engine/server.hpp"
#include "sim/network/alpha_beta.hpp"
#include "sim/network/rendezvous.hpp"

namespace allreplay {

/// Not for several threads at a time.
class Fabric {
 public:
  virtual ~Fabric() = default;

  /// What planners see: the time of the call alone, in every fidelity a + b·M or a measured table.
  virtual CommCost price(const Call& call) const = 0;

  /// The time of the call alone, as the server has it.
  virtual Time alone(Bytes bytes, const Call& call) const = 0;

  /// In no less time do any blocks of M bytes in all travel, in their first call, or in one behind it. `several`:
  /// blocks may be in flight together, and the start-ups of some hide behind the bytes of others.
  virtual Time least(Bytes bytes, const Call& call, bool several) const = 0;
  virtual Time least_behind(Bytes bytes, const Call& call, bool several) const = 0;

  /// What M bytes of the call take at the best speed of all sizes, without any start-up.
  virtual Time at_best(Bytes bytes, const Call& call) const = 0;

  /// A fresh, idle network. REQUIRES: this fabric outlives it.
  virtual std::unique_ptr<Server> server() const = 0;

  /// Likewise, of tasks that start in parties. REQUIRES: the fidelity is `message`.
  virtual std::unique_ptr<Server> server_apart(const Parties& parties) const;

  /// Which calls keep each other from the network: those with a bit in common (alpha-beta on two levels).
  virtual Channels channels(const Call& /*call*/) const { return channel_inside; }

  /// Of one collective; 0 where none is sent one by one.
  virtual std::int64_t messages(const Call& /*call*/) const { return 0; }

  /// Events inside the networks that found the prices so far.
  virtual std::int64_t pricing_events() const { return 0; }
};

/// The closed form, on a channel per level.
class AlphaBetaFabric final : public Fabric {
 public:
  /// `costs`: by service, of all calls that will be made. `rates`: somebody asks how fast bytes move.
  AlphaBetaFabric(ChannelCosts costs, Sharing sharing, bool rates = false)
      : costs_(std::move(costs)), sharing_(sharing), rates_(rates) {}

  CommCost price(const Call& call) const override { return cost(call); }
  Time alone(Bytes bytes, const Call& call) const override { return cost(call)(bytes); }
  Time least(Bytes bytes, const Call& call, bool) const override { return cost(call).least(bytes); }
  Time least_behind(Bytes bytes, const Call& call, bool several) const override {
    return several ? std::min(cost(call).transfer(bytes), cost(call).least(bytes)) : cost(call).least(bytes);
  }
  Time at_best(Bytes bytes, const Call& call) const override { return cost(call).at_best(bytes); }
  std::unique_ptr<Server> server() const override;
  Channels channels(const Call& call) const override { return costs_.at(service_of(call)).channels; }

 private:
  const CommCost& cost(const Call& call) const { return costs_.at(service_of(call)).cost; }

  ChannelCosts costs_;
  Sharing sharing_;
  bool rates_;
};

}  // namespace allreplay
