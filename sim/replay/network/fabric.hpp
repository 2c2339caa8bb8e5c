// A fabric is the network on which transfers travel: it has prices for planners, lower bounds, and a server for the
// engine. It is made for a list of calls among a number of workers, in one of three fidelities: AlphaBetaFabric here,
// FluidFabric and MessageFabric in rounds_fabric.hpp. Task::call_id is a call's number in the list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/plans/collective/call.hpp"
#include "sim/plans/collective/comm_cost.hpp"
#include "sim/replay/engine/server.hpp"
#include "sim/replay/network/alpha_beta.hpp"
#include "sim/replay/network/rendezvous.hpp"

namespace allreplay {

/// Not thread-safe. Every function that takes a call requires that it is in the list.
class Fabric {
 public:
  explicit Fabric(std::vector<Call> calls, std::int64_t workers) : calls_(std::move(calls)), workers_(workers) {
    for (Call& call : calls_) call.group = call.group.of(workers);
  }
  virtual ~Fabric() = default;

  const std::vector<Call>& calls() const { return calls_; }
  std::int64_t workers() const { return workers_; }

  /// The number of the call; if it names no algorithm, that of the first call with its operation and group.
  CallId id_of(const Call& call) const;
  bool offers(const Call& call) const { return find(call).has_value(); }

  /// The cost for planners: the time of the call if it has the network to itself.
  virtual CommCost price(const Call& call) const = 0;

  /// The same time as the server simulates it.
  virtual Time alone(WireBytes bytes, const Call& call) const = 0;

  /// Lower bounds for blocks of `bytes` in total, cut in any way: for their first call, and for a call that follows it.
  /// `several`: blocks may be in flight simultaneously, so that start-ups overlap with transfers.
  virtual Time least(WireBytes bytes, const Call& call, bool several) const = 0;
  virtual Time least_behind(WireBytes bytes, const Call& call, bool several) const = 0;

  /// The time of `bytes` at the best speed of any size, without start-ups.
  virtual Time at_best(WireBytes bytes, const Call& call) const = 0;

  /// A new, idle network. REQUIRES: this fabric outlives it.
  virtual std::unique_ptr<Server> server() const = 0;

  /// The same for tasks that start in parties (rendezvous.hpp). REQUIRES: the fidelity is `message`.
  virtual std::unique_ptr<Server> server_per_rank(const Parties& parties) const;

  /// The channels of the call. Calls with a channel in common wait for each other (alpha-beta on two levels).
  virtual Channels channels(const Call& /*call*/) const { return channel_inside; }

  /// The number of messages of the call; 0 if the fidelity has no messages.
  virtual std::int64_t messages(const Call& /*call*/) const { return 0; }

  /// The time that a launch lasts longer for each tensor that is launched with it for the first time.
  virtual Time launch_of_tensor() const { return Time(0); }

  /// The number of events simulated so far to find prices.
  virtual std::int64_t pricing_events() const { return 0; }

 private:
  std::optional<CallId> find(const Call& call) const;

  std::vector<Call> calls_;  // their groups have no open values (Group::of)
  std::int64_t workers_;
};

/// Closed forms, on one channel per level.
class AlphaBetaFabric final : public Fabric {
 public:
  /// `costs`: by call. `rates`: the server's load() sets Load::rate.
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
