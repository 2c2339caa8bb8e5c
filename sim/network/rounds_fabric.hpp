// A collective on a topology, as the rounds of messages that it is.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/collective/algorithm.hpp"
#include "sim/network/fabric.hpp"
#include "sim/network/fidelity.hpp"
#include "sim/network/folding.hpp"
#include "sim/network/level_alpha.hpp"
#include "sim/network/nccl_on_links.hpp"

namespace allreplay {

struct RoundLoads;
struct RoutedRounds;
class Shapes;

struct NetworkSetup {
  Fidelity fidelity = Fidelity::Fluid;  ///< that or Message
  std::int64_t workers = 2;
  double alpha = 0;  ///< per message, on top of its links, at least; seconds
  double gamma = 0;  ///< seconds per byte reduced
  CollectiveOptions options;
  bool reuse = true;                              ///< collectives that run alone are priced once
  bool fold = true;                               ///< messages that are alike are simulated once
  bool rates = false;                             ///< somebody asks how fast bytes move: all are simulated, in fluid
  SourceLocation place;                           ///< of complaints about the collective
  std::vector<Call> calls;                        ///< each with its algorithm
  LevelAlpha levels;                              ///< where there are nodes: what a message costs beyond alpha
  std::int64_t rails = 1;                         ///< ports of a node: so many rings at once
  std::shared_ptr<const Network> nccl = nullptr;  ///< nccl_levels(); where there is none, no call is NCCL's
};

/// Lays the collectives on the topology once, for any number of servers and prices.
class RoundsFabric : public Fabric {
 public:
  /// What `fluid` takes for a collective alone, but for a rounding per round: the planners' price in both fidelities.
  /// a + b·M where its rounds go in lockstep; else no line.
  CommCost price(const Call& call = CollectiveOp::AllReduce) const override;
  Time alone(WireBytes bytes,
             const Call& call = CollectiveOp::AllReduce) const override;  ///< simulated, and remembered
  /// With several in flight the larger of rounds·(α + the least route latency) and the busiest link's bytes /
  /// bandwidth, and nothing for what is behind.
  Time least(WireBytes bytes, const Call& call = CollectiveOp::AllReduce, bool several = true) const override;
  Time least_behind(WireBytes bytes, const Call& call, bool several) const override;
  Time at_best(WireBytes bytes, const Call& call) const override {
    const auto& nccl = nccl_[id_of(call)];
    return nccl ? to_time(nccl->least_on_links(bytes)) : alone(bytes, call);
  }
  std::unique_ptr<Server> server() const override;
  std::int64_t messages(const Call& call = CollectiveOp::AllReduce) const override;
  std::int64_t pricing_events() const override { return pricing_events_; }

  /// Of all that is ever sent (by call, and behind these what NCCL sends for them at other sizes), which rounds a block
  /// of so many bytes makes, and how many bytes then travel.
  struct Sent {
    std::uint32_t rounds = 0;
    double bytes = 0;
  };
  Sent sent(CallId call, double bytes) const;
  std::uint32_t laid() const { return static_cast<std::uint32_t>(laid_.size()); }
  /// `hosts_beside`: the topology's group_size().
  Rounds rounds_laid(std::uint32_t number, std::int64_t hosts_beside) const;
  std::int64_t messages_laid(std::uint32_t number) const;
  /// What its messages cost, and besides α; seconds.
  double alpha_of(std::uint32_t number) const { return laid_[number].by_nccl ? 0 : setup_.alpha; }
  LevelAlpha levels_of(std::uint32_t number) const;
  const std::vector<std::shared_ptr<const RoundLoads>>& loads() const { return loads_; }
  /// By call, what NCCL sends where all that is laid loads links so. `first`: their first one's number in a network
  /// that has more.
  NcclCalls nccl_on(std::span<const std::shared_ptr<const RoundLoads>> loads, std::uint32_t first = 0) const;
  /// Whether some messages of the call have longer or slower routes than others.
  bool routes_differ(const Call& call) const;
  /// What of price() are start-ups: those on the longest path; none where a busy link takes longer than any path.
  double start_ups(WireBytes bytes, const Call& call) const;
  /// Of rings that run at once across nodes: how many times as long as in `message` `fluid` may take at most, since
  /// nothing ends before its start-ups alone, nor before its busiest link. 1 for all else.
  double rings_above_message(WireBytes bytes, const Call& call) const;

 protected:
  RoundsFabric(const NetworkSetup& setup, const Topology& topology);

  virtual std::unique_ptr<Server> network() const = 0;
  /// What the network takes for a collective that is alone, where that needs no simulation.
  virtual std::optional<Time> known(WireBytes /*bytes*/, const Call& /*call*/) const { return std::nullopt; }
  std::vector<InNodes> groups_in_nodes(const Group& group, bool chains) const;
  Rounds rounds_of_part(const Call& call, bool chains, std::int64_t hosts_beside) const;

  NetworkSetup setup_;
  std::shared_ptr<Shapes> shapes_;
  struct Laid {
    Call call;
    bool by_nccl = false;
  };
  std::vector<Laid> laid_;                                // by call, and behind these
  std::vector<std::shared_ptr<const RoundLoads>> loads_;  // of each of them
  NcclCalls nccl_;                                        // on these

 private:
  // Its algorithms, and which of laid_ each sends.
  struct NcclCall {
    CallId call;
    NcclPrice price;
    std::vector<NcclOnLinks::Laid> laid;
  };
  std::vector<NcclCall> nccl_calls();
  const RoundLoads& loads_of(const Call& call) const { return *loads_[id_of(call)]; }

  std::vector<NcclCall> by_nccl_;
  mutable std::map<std::pair<CallId, double>, Time> prices_;
  mutable std::int64_t pricing_events_ = 0;
};

/// Rounds in lockstep, each a flow (fluid.hpp).
class FluidFabric final : public RoundsFabric {
 public:
  FluidFabric(const NetworkSetup& setup, const Topology& topology);

 private:
  std::unique_ptr<Server> network() const override;
};

/// Every message (message.hpp).
class MessageFabric final : public RoundsFabric {
 public:
  MessageFabric(const NetworkSetup& setup, const Topology& topology);
  std::unique_ptr<Server> server_per_rank(const Parties& parties) const override;

 private:
  std::unique_ptr<Server> network() const override;
  std::optional<Time> known(WireBytes bytes, const Call& call) const override;
  // `starts`: by rank; none: all at 0.
  std::optional<Time> alone_from(std::vector<Time> starts, double bytes, CallId call) const;

  std::vector<Link> links_;
  std::vector<std::shared_ptr<const RoutedRounds>> routed_;    // of laid_
  mutable std::optional<std::optional<FoldedRounds>> folded_;  // once a network is asked for
};

/// The one that the setup's fidelity says. REQUIRES: at least as many hosts as workers; `topology` outlives the call
/// only. Throws InputError where the algorithm cannot serve that many workers, or has no halves.
std::shared_ptr<const RoundsFabric> lay_on(const NetworkSetup& setup, const Topology& topology);

}  // namespace allreplay
