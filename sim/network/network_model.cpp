#include "sim/network/network_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/network/fluid.hpp"
#include "sim/network/message.hpp"
#include "sim/network/reuse.hpp"
#include "sim/network/round_load.hpp"
#include "sim/network/routed_rounds.hpp"

namespace allreplay {

struct NetworkModel::State {
  NetworkSetup setup;
  std::vector<Link> links;
  std::shared_ptr<Shapes> shapes = std::make_shared<Shapes>();
  std::vector<std::shared_ptr<const RoundLoads>> loads;    // by leg
  std::vector<std::shared_ptr<const RoutedRounds>> routed; // by leg; in `message` only
  std::map<std::pair<std::size_t, Bytes>, Time> prices;
  std::int64_t pricing_events = 0;

  std::unique_ptr<Server> network(CarrierOf carrier_of) const {
    if (setup.fidelity == Fidelity::Fluid) return std::make_unique<FluidNetwork>(loads, shapes, setup.alpha, setup.gamma, std::move(carrier_of));
    return std::make_unique<MessageNetwork>(routed, links, setup.gamma, std::move(carrier_of));
  }

  Time price(std::size_t leg, Bytes bytes) {
    if (bytes <= 0) return Time(0);
    const auto known = prices.find({leg, bytes});
    if (known != prices.end()) return known->second;
    const std::unique_ptr<Server> idle = network([leg](TaskId) { return leg; });
    idle->start(0, {.bytes = bytes}, Time(0));
    std::vector<TaskId> done;
    Time now{0};
    while (done.empty()) {
      now = idle->next_completion();
      idle->complete(now, done);
    }
    pricing_events += idle->events();
    prices.emplace(std::pair(leg, bytes), now);
    return now;
  }
};

NetworkModel::NetworkModel(const NetworkSetup& setup, const Topology& topology) : state_(std::make_unique<State>()) {
  state_->setup = setup;
  state_->links.assign(topology.links().begin(), topology.links().end());
  for (const Leg leg : setup.legs) {
    // One worker sends nothing.
    const Rounds rounds = setup.workers > 1 ? setup.algorithm->rounds(setup.workers, setup.options, leg, setup.place) : Rounds{.ranks = 1};
    state_->loads.push_back(std::make_shared<RoundLoads>(rounds, topology, *state_->shapes));
    if (setup.fidelity == Fidelity::Message) state_->routed.push_back(std::make_shared<RoutedRounds>(rounds, topology, setup.alpha));
  }
  if (setup.fidelity == Fidelity::Fluid) state_->shapes->fold();
}

NetworkModel::~NetworkModel() = default;

std::unique_ptr<Server> NetworkModel::server(CarrierOf carrier_of) const {
  State* state = state_.get();
  if (!state->setup.reuse) return state->network(std::move(carrier_of));
  return std::make_unique<Reuse>(state->network(carrier_of), [state, carrier_of](TaskId id, const Task& task) {
    const std::int64_t before = state->pricing_events;
    const Time time = state->price(carrier_of ? carrier_of(id) : 0, task.bytes);
    return Reuse::Price{time, state->pricing_events - before};
  });
}

Time NetworkModel::alone(Bytes bytes, std::size_t leg) const { return state_->price(leg, bytes); }

CommCost NetworkModel::cost(std::size_t leg) const {
  const RoundLoads& loads = *state_->loads[leg];
  return {loads.start_up(state_->setup.alpha), loads.per_byte(state_->setup.gamma)};
}

Time NetworkModel::least(Bytes bytes, std::size_t leg) const {
  if (bytes <= 0) return Time(0);
  const RoundLoads& loads = *state_->loads[leg];
  return to_time(std::max(static_cast<double>(loads.length) * (state_->setup.alpha + loads.least_latency),
                          loads.busiest * static_cast<double>(bytes)));
}

std::int64_t NetworkModel::messages(std::size_t leg) const { return state_->loads[leg]->messages; }

std::int64_t NetworkModel::pricing_events() const { return state_->pricing_events; }

Fidelity find_fidelity(std::string_view name, const Place& place) {
  if (name == "fluid") return Fidelity::Fluid;
  if (name == "message") return Fidelity::Message;
  static const std::vector<std::string> known = {"alpha-beta", "fluid", "message"};
  throw InputError(place, fmt::format("unknown fidelity '{}'", name), suggest(name, known));
}

}  // namespace allreplay
