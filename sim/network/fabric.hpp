// What transfers travel on: a price for those who plan, a bound, and a server for the engine. It is made for a list of
// calls, among some workers on some network, in one of three fidelities: AlphaBetaFabric here, FluidFabric and
// MessageFabric in rounds_fabric.hpp. Task::call_id is a call's number in the list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/collective/call.hpp"
#include "sim/collective/comm_cost.hpp"
#include "sim/engine/server.hpp"
#include "sim/network/alpha_beta.hpp"
#include "sim/network/rendezvous.hpp"

namespace allreplay {

/// Not for several threads at a time. REQUIRES of all that takes a call: it is in the list.
class Fabric {
 public:
  explicit Fabric(std::vector<Call> calls, std::int64_t workers) : calls_(std::move(calls)), workers_(workers) {
    for (Call& call : calls_) call.group = call.group.of(workers);
  }
  virtual ~Fabric() = default;

  const std::vector<Call>& calls() const { return calls_; }
  std::int64_t workers() const { return workers_; }

  /// The number of the call; where it names no algorithm, of the first that is alike.
  CallId id_of(const Call& call) const;
  bool offers(const Call& call) const { return find(call).has_value(); }

  /// What planners see: the time of the call alone, in every fidelity a + b·M or a measured table.
  virtual CommCost price(const Call& call) const = 0;

  /// The time of the call alone, as the server has it.
  virtual Time alone(WireBytes bytes, const Call& call) const = 0;

  /// In no less time do any blocks of M bytes in all travel, in their first call, or in one behind it. `several`:
  /// blocks may be in flight together, and the start-ups of some hide behind the bytes of others.
  virtual Time least(WireBytes bytes, const Call& call, bool several) const = 0;
  virtual Time least_behind(WireBytes bytes, const Call& call, bool several) const = 0;

  /// What M bytes of the call take at the best speed of all sizes, without any start-up.
  virtual Time at_best(WireBytes bytes, const Call& call) const = 0;

  /// A fresh, idle network. REQUIRES: this fabric outlives it.
  virtual std::unique_ptr<Server> server() const = 0;

  /// Likewise, of tasks that start in parties. REQUIRES: the fidelity is `message`.
  virtual std::unique_ptr<Server> server_per_rank(const Parties& parties) const;

  /// Which calls keep each other from the network: those with a bit in common (alpha-beta on two levels).
  virtual Channels channels(const Call& /*call*/) const { return channel_inside; }

  /// Of one collective; 0 where none is sent one by one.
  virtual std::int64_t messages(const Call& /*call*/) const { return 0; }

  /// What a launch lasts longer for each tensor that is first launched with it.
  virtual Time launch_of_tensor() const { return Time(0); }

  /// Events inside the networks that found the prices so far.
  virtual std::int64_t pricing_events() const { return 0; }

 private:
  std::optional<CallId> find(const Call& call) const;

  std::vector<Call> calls_;  // their groups are whole (Group::of)
  std::int64_t workers_;
};

/// The closed form, on a channel per level.
class AlphaBetaFabric final : public Fabric {
 public:
  /// `costs`: of each call. `rates`: somebody asks how fast bytes move.
  AlphaBetaFabric(std::vector<Call> calls, std::int64_t workers, ChannelCosts costs, Sharing sharing,
                  bool rates = false)
      : Fabric(std::move(calls), workers), costs_(std::move(costs)), sharing_(sharing), rates_(rates) {}

  CommCost price(const Call& call) const override { return cost(call); }
  Time alone(WireBytes bytes, const Call& call) const override { return cost(call)(bytes); }
  Time least(WireBytes bytes, const Call& call, bool) const override { return cost(call).least(bytes); }
  Time least_behind(WireBytes bytes, const Call& call, bool several) const override {
    return several ? std::min(cost(call).transfer(bytes), cost(call).least(bytes)) : cost(call).least(bytes);
  }
  Time at_best(WireBytes bytes, const Call& call) const override { return cost(call).at_best(bytes); }
  std::unique_ptr<Server> server() const override;
  Channels channels(const Call& call) const override { return costs_[id_of(call)].channels; }

 private:
  const CommCost& cost(const Call& call) const { return costs_[id_of(call)].cost; }

  ChannelCosts costs_;
  Sharing sharing_;
  bool rates_;
};

}  // namespace allreplay
