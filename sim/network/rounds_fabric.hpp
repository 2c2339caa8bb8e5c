// A collective on a topology, as the rounds of messages that it is.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/collective/algorithm.hpp"
#include "sim/network/fabric.hpp"

namespace allreplay {

struct RoundLoads;
struct RoutedRounds;
class Shapes;

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

/// Lays the collective on the topology once, for any number of servers and prices. REQUIRES of all that takes a stage:
/// AllReduce, or NetworkSetup::split.
class RoundsFabric : public Fabric {
 public:
  /// What `fluid` takes for a collective alone, a + b·M but for a rounding per round: the planners' price in both
  /// fidelities, and exact in `fluid`.
  CommCost price(Stage stage = Stage::AllReduce) const override;
  Time alone(Bytes bytes, Stage stage = Stage::AllReduce) const override;  ///< simulated, and remembered
  /// With several in flight the larger of rounds·(α + the least route latency) and the busiest link's bytes /
  /// bandwidth, and nothing for what is behind.
  Time least(Bytes bytes, Stage stage = Stage::AllReduce, bool several = true) const override;
  Time least_behind(Bytes bytes, Stage stage, bool several) const override;
  std::unique_ptr<Server> server() const override;
  std::int64_t messages(Stage stage = Stage::AllReduce) const override;
  std::int64_t pricing_events() const override { return pricing_events_; }

 protected:
  RoundsFabric(const NetworkSetup& setup, const Topology& topology);

  virtual std::unique_ptr<Server> network() const = 0;
  /// The rounds of each stage that the setup asks for.
  std::vector<Rounds> rounds() const;

  NetworkSetup setup_;
  std::shared_ptr<Shapes> shapes_;
  std::vector<std::shared_ptr<const RoundLoads>> loads_;  // by stage

 private:
  const RoundLoads& loads_of(Stage stage) const { return *loads_.at(static_cast<std::size_t>(stage)); }

  mutable std::map<std::pair<Stage, Bytes>, Time> prices_;
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

 private:
  std::unique_ptr<Server> network() const override;

  std::vector<Link> links_;
  std::vector<std::shared_ptr<const RoutedRounds>> routed_;  // by stage
};

/// The one that the setup's fidelity says. REQUIRES: at least as many hosts as workers; `topology` outlives the call
/// only. Throws InputError where the algorithm cannot serve that many workers, or has no halves.
std::shared_ptr<const RoundsFabric> lay_on(const NetworkSetup& setup, const Topology& topology);

/// "fluid" or "message". Throws InputError at `place`.
Fidelity find_fidelity(std::string_view name, const Place& place);

}  // namespace allreplay
