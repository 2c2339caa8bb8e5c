// The fabrics of the fidelities `fluid` and `message`: collectives as rounds of messages on a topology.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"
#include "sim/plans/collective/algorithm.hpp"
#include "sim/replay/network/fabric.hpp"
#include "sim/replay/network/fidelity.hpp"
#include "sim/replay/network/folding.hpp"
#include "sim/replay/network/level_alpha.hpp"
#include "sim/replay/network/nccl_on_links.hpp"

namespace allreplay {

struct RoundLoads;
struct RoutedRounds;
class Shapes;

/// The network without its topology, and the calls.
struct NetworkSetup {
  Fidelity fidelity = Fidelity::Fluid;  ///< Fluid or Message
  std::int64_t workers = 2;
  double alpha = 0;  ///< per message, in addition to its links; of two levels the smaller; seconds
  double gamma = 0;  ///< seconds per byte reduced
  CollectiveOptions options;
  bool reuse = true;                              ///< does not simulate collectives that run alone (reuse.hpp)
  bool fold = true;                               ///< simulates identical messages once (folding.hpp)
  bool rates = false;                             ///< load() sets Load::rate, in fluid; implies no reuse
  SourceLocation place;                           ///< of the collective, for errors
  std::vector<Call> calls;                        ///< each with its algorithm
  LevelAlpha levels;                              ///< with nodes: the cost of a message beyond alpha
  std::int64_t rails = 1;                         ///< ports of a node: the number of simultaneous rings
  std::shared_ptr<const Network> nccl = nullptr;  ///< nccl_levels(); null if no call is NCCL's

  bool operator==(const NetworkSetup& other) const;
};

/// Lays the collectives on the topology once, for any number of servers and prices.
class RoundsFabric : public Fabric {
 public:
  /// The time of a single collective in `fluid`, without the rounding of each round; planners use it in both
  /// fidelities. It is a + b·M if the rounds run in lockstep.
  CommCost price(const Call& call = CollectiveOp::AllReduce) const override;
  Time alone(WireBytes bytes,
             const Call& call = CollectiveOp::AllReduce) const override;  ///< simulated once per size
  /// With `several`: the larger of rounds·(α + the least route latency) and the busiest link's bytes / bandwidth.
  Time least(WireBytes bytes, const Call& call = CollectiveOp::AllReduce, bool several = true) const override;
  Time least_behind(WireBytes bytes, const Call& call, bool several) const override;
  Time at_best(WireBytes bytes, const Call& call) const override {
    const auto& nccl = nccl_[id_of(call)];
    return nccl ? to_time(nccl->least_on_links(bytes)) : alone(bytes, call);
  }
  std::unique_ptr<Server> server() const override;
  std::int64_t messages(const Call& call = CollectiveOp::AllReduce) const override;
  std::int64_t pricing_events() const override { return pricing_events_; }

  /// The collective that is sent for a block, and the bytes that travel. A fabric lays one collective per call, and
  /// after these the other algorithms that NCCL chooses for calls at other sizes.
  struct Sent {
    std::uint32_t rounds = 0;
    double bytes = 0;
  };
  Sent sent(CallId call, double bytes) const;
  /// The number of laid collectives.
  std::uint32_t laid() const { return static_cast<std::uint32_t>(laid_.size()); }
  /// `group_size`: the topology's group_size().
  Rounds rounds_laid(std::uint32_t number, std::int64_t group_size) const;
  std::int64_t messages_laid(std::uint32_t number) const;
  /// The α of its messages in seconds, and their cost beyond α.
  double alpha_of(std::uint32_t number) const { return laid_[number].by_nccl ? 0 : setup_.alpha; }
  LevelAlpha levels_of(std::uint32_t number) const;
  const std::vector<std::shared_ptr<const RoundLoads>>& loads() const { return loads_; }
  /// By call, NCCL's choices if the laid collectives have these loads. `first`: the number of the first in its network.
  NcclCalls nccl_on(std::span<const std::shared_ptr<const RoundLoads>> loads, std::uint32_t first = 0) const;
  /// True if some messages of the call have longer or slower routes than others.
  bool routes_differ(const Call& call) const;
  /// The part of price() that is start-ups: those on the longest path; 0 if a busy link takes longer than any path.
  double start_ups(WireBytes bytes, const Call& call) const;
  /// For simultaneous rings across nodes: an upper bound of the time in `fluid` as a multiple of that in `message`,
  /// since no collective ends before its start-ups, nor before its busiest link. 1 for all other calls.
  double rings_above_message(WireBytes bytes, const Call& call) const;

  /// A copy that shares the laid collectives, and the prices that either finds; pricing_events() counts as if it did
  /// not. Thread-safe if the fabric itself is only copied.
  virtual std::shared_ptr<const RoundsFabric> copy() const = 0;
  /// The memory that copies share, roughly.
  virtual std::size_t bytes() const;

 protected:
  RoundsFabric(const NetworkSetup& setup, const Topology& topology);

  virtual std::unique_ptr<Server> network() const = 0;
  /// The time of a collective that has the network to itself, if that needs no simulation.
  virtual std::optional<Time> known(WireBytes /*bytes*/, const Call& /*call*/) const { return std::nullopt; }
  std::vector<InNodes> groups_in_nodes(const Group& group, bool chains) const;
  Rounds rounds_of_part(const Call& call, bool chains, std::int64_t group_size) const;

  NetworkSetup setup_;
  std::shared_ptr<Shapes> shapes_;
  struct Laid {
    Call call;
    bool by_nccl = false;
  };
  std::vector<Laid> laid_;                                // one per call, then NCCL's other algorithms
  std::vector<std::shared_ptr<const RoundLoads>> loads_;  // by laid_
  NcclCalls nccl_;                                        // on loads_

 private:
  // A call of NCCL's: its algorithms, and the index of each into laid_.
  struct NcclCall {
    CallId call;
    NcclPrice price;
    std::vector<NcclOnLinks::Laid> laid;
  };
  std::vector<NcclCall> nccl_calls();
  const RoundLoads& loads_of(const Call& call) const { return *loads_[id_of(call)]; }

  // A price, and the events that were simulated to find it.
  struct Price {
    Time time{0};
    std::int64_t events = 0;
  };
  using Prices = std::map<std::pair<CallId, double>, Price>;
  struct SharedPrices {
    std::mutex mutex;
    Prices prices;
  };
  Price find_price(WireBytes bytes, const Call& call) const;
  Price price_alone(WireBytes bytes, const Call& call) const;

  std::vector<NcclCall> by_nccl_;
  std::shared_ptr<SharedPrices> shared_prices_ = std::make_shared<SharedPrices>();  // found by any copy
  mutable Prices prices_;                                                           // asked for here
  mutable std::int64_t pricing_events_ = 0;
};

/// Rounds in lockstep (fluid.hpp).
class FluidFabric final : public RoundsFabric {
 public:
  FluidFabric(const NetworkSetup& setup, const Topology& topology);
  std::shared_ptr<const RoundsFabric> copy() const override { return std::make_shared<FluidFabric>(*this); }

 private:
  std::unique_ptr<Server> network() const override;
};

/// Every message (message.hpp).
class MessageFabric final : public RoundsFabric {
 public:
  MessageFabric(const NetworkSetup& setup, const Topology& topology);
  std::unique_ptr<Server> server_per_rank(const Parties& parties) const override;
  std::shared_ptr<const RoundsFabric> copy() const override { return std::make_shared<MessageFabric>(*this); }
  std::size_t bytes() const override;

 private:
  std::unique_ptr<Server> network() const override;
  std::optional<Time> known(WireBytes bytes, const Call& call) const override;
  // `starts`: by rank; empty: all at 0.
  std::optional<Time> alone_from(std::vector<Time> starts, double bytes, CallId call) const;

  // Set by the first network() of any copy.
  struct Folded {
    std::once_flag once;
    std::optional<FoldedRounds> rounds;
  };

  std::vector<Link> links_;
  std::vector<std::shared_ptr<const RoutedRounds>> routed_;  // by laid_
  std::shared_ptr<Folded> folded_ = std::make_shared<Folded>();
};

/// Makes the fabric of the setup's fidelity; does not keep `topology`. REQUIRES: at least as many hosts as workers.
/// Throws InputError if an algorithm does not support its number of workers, or lacks the half that is called.
std::shared_ptr<const RoundsFabric> lay_on(const NetworkSetup& setup, const Topology& topology);

}  // namespace allreplay
