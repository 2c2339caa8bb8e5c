#include "sim/network/rounds_fabric.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/named.hpp"
#include "sim/network/fidelity.hpp"
#include "sim/network/fluid.hpp"
#include "sim/network/message.hpp"
#include "sim/network/reuse.hpp"
#include "sim/network/round_load.hpp"
#include "sim/network/routed_rounds.hpp"

namespace allreplay {

RoundsFabric::RoundsFabric(const NetworkSetup& setup, const Topology& topology)
    : setup_(setup), shapes_(std::make_shared<Shapes>()) {
  for (const Rounds& rounds : this->rounds())
    loads_.push_back(std::make_shared<RoundLoads>(rounds, topology, *shapes_));
}

std::vector<Rounds> RoundsFabric::rounds() const {
  std::vector<Rounds> all;
  for (const Stage stage : {Stage::AllReduce, Stage::ReduceScatter, Stage::AllGather}) {
    if (stage != Stage::AllReduce && !setup_.split) break;
    // One worker sends nothing.
    all.push_back(setup_.workers > 1 ? rounds_of(*setup_.algorithm, setup_.workers, setup_.options, stage, setup_.place)
                                     : Rounds{.ranks = 1});
  }
  return all;
}

std::unique_ptr<Server> RoundsFabric::server() const {
  if (!setup_.reuse) return network();
  return std::make_unique<Reuse>(network(), [this](TaskId, const Task& task) {
    const std::int64_t before = pricing_events_;
    const Time time = alone(task.bytes, static_cast<Stage>(task.service));
    return Reuse::Price{time, pricing_events_ - before};
  });
}

Time RoundsFabric::alone(Bytes bytes, Stage stage) const {
  if (bytes <= 0) return Time(0);
  const auto known = prices_.find({stage, bytes});
  if (known != prices_.end()) return known->second;
  const std::unique_ptr<Server> idle = network();
  idle->start(0, {.bytes = bytes, .service = static_cast<std::uint32_t>(stage)}, Time(0));
  std::vector<TaskId> done;
  Time now{0};
  while (done.empty()) {
    now = idle->next_completion();
    idle->complete(now, done);
  }
  pricing_events_ += idle->events();
  prices_.emplace(std::pair(stage, bytes), now);
  return now;
}

CommCost RoundsFabric::price(Stage stage) const {
  const RoundLoads& loads = loads_of(stage);
  return {loads.start_up(setup_.alpha), loads.per_byte(setup_.gamma)};
}

Time RoundsFabric::least(Bytes bytes, Stage stage, bool several) const {
  if (bytes <= 0) return Time(0);
  if (!several) return alone(bytes, stage);
  const RoundLoads& loads = loads_of(stage);
  return to_time(std::max(static_cast<double>(loads.length) * (setup_.alpha + loads.least_latency),
                          loads.busiest * static_cast<double>(bytes)));
}

Time RoundsFabric::least_behind(Bytes bytes, Stage stage, bool several) const {
  return several ? Time(0) : alone(bytes, stage);
}

std::int64_t RoundsFabric::messages(Stage stage) const { return loads_of(stage).messages; }

FluidFabric::FluidFabric(const NetworkSetup& setup, const Topology& topology) : RoundsFabric(setup, topology) {
  shapes_->fold();
}

std::unique_ptr<Server> FluidFabric::network() const {
  return std::make_unique<FluidNetwork>(loads_, shapes_, setup_.alpha, setup_.gamma);
}

MessageFabric::MessageFabric(const NetworkSetup& setup, const Topology& topology) : RoundsFabric(setup, topology) {
  links_.assign(topology.links().begin(), topology.links().end());
  for (const Rounds& rounds : this->rounds())
    routed_.push_back(std::make_shared<RoutedRounds>(rounds, topology, setup.alpha));
}

std::unique_ptr<Server> MessageFabric::network() const {
  return std::make_unique<MessageNetwork>(routed_, links_, setup_.gamma);
}

std::shared_ptr<const RoundsFabric> lay_on(const NetworkSetup& setup, const Topology& topology) {
  if (setup.fidelity == Fidelity::Message) return std::make_shared<MessageFabric>(setup, topology);
  return std::make_shared<FluidFabric>(setup, topology);
}

Fidelity find_fidelity(std::string_view name, const Place& place) {
  if (name == "fluid") return Fidelity::Fluid;
  if (name == "message") return Fidelity::Message;
  throw InputError(place, fmt::format("unknown fidelity '{}'", name), suggest(name, names_of(fidelities)));
}

}  // namespace allreplay
