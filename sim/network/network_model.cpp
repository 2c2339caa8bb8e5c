#include "sim/network/network_model.hpp"

#include <algorithm>

#include <fmt/format.h>

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
  std::vector<std::shared_ptr<const RoundLoads>> loads;     // by stage
  std::vector<std::shared_ptr<const RoutedRounds>> routed;  // by stage; in `message` only
  std::map<std::pair<Stage, Bytes>, Time> prices;
  std::int64_t pricing_events = 0;

  std::unique_ptr<Server> network() const {
    if (setup.fidelity == Fidelity::Fluid)
      return std::make_unique<FluidNetwork>(loads, shapes, setup.alpha, setup.gamma);
    return std::make_unique<MessageNetwork>(routed, links, setup.gamma);
  }

  const RoundLoads& loads_of(Stage stage) const { return *loads[static_cast<std::size_t>(stage)]; }

  Time price(Stage stage, Bytes bytes) {
    if (bytes <= 0) return Time(0);
    const auto known = prices.find({stage, bytes});
    if (known != prices.end()) return known->second;
    const std::unique_ptr<Server> idle = network();
    idle->start(0, {.bytes = bytes, .service = static_cast<std::uint32_t>(stage)}, Time(0));
    std::vector<TaskId> done;
    Time now{0};
    while (done.empty()) {
      now = idle->next_completion();
      idle->complete(now, done);
    }
    pricing_events += idle->events();
    prices.emplace(std::pair(stage, bytes), now);
    return now;
  }
};

NetworkModel::NetworkModel(const NetworkSetup& setup, const Topology& topology) : state_(std::make_unique<State>()) {
  state_->setup = setup;
  state_->links.assign(topology.links().begin(), topology.links().end());
  for (const Stage stage : {Stage::AllReduce, Stage::ReduceScatter, Stage::AllGather}) {
    if (stage != Stage::AllReduce && !setup.split) break;
    // One worker sends nothing.
    const Rounds rounds = setup.workers > 1 ? rounds_of(*setup.algorithm, setup.workers, setup.options, stage, setup.place)
                                            : Rounds{.ranks = 1};
    state_->loads.push_back(std::make_shared<RoundLoads>(rounds, topology, *state_->shapes));
    if (setup.fidelity == Fidelity::Message)
      state_->routed.push_back(std::make_shared<RoutedRounds>(rounds, topology, setup.alpha));
  }
  if (setup.fidelity == Fidelity::Fluid) state_->shapes->fold();
}

NetworkModel::~NetworkModel() = default;

std::unique_ptr<Server> NetworkModel::server() const {
  State* state = state_.get();
  if (!state->setup.reuse) return state->network();
  return std::make_unique<Reuse>(state->network(), [state](TaskId, const Task& task) {
    const std::int64_t before = state->pricing_events;
    const Time time = state->price(static_cast<Stage>(task.service), task.bytes);
    return Reuse::Price{time, state->pricing_events - before};
  });
}

Time NetworkModel::alone(Bytes bytes, Stage stage) const { return state_->price(stage, bytes); }

CommCost NetworkModel::cost(Stage stage) const {
  const RoundLoads& loads = state_->loads_of(stage);
  return {loads.start_up(state_->setup.alpha), loads.per_byte(state_->setup.gamma)};
}

Time NetworkModel::least(Bytes bytes, Stage stage) const {
  if (bytes <= 0) return Time(0);
  const RoundLoads& loads = state_->loads_of(stage);
  return to_time(std::max(static_cast<double>(loads.length) * (state_->setup.alpha + loads.least_latency),
                          loads.busiest * static_cast<double>(bytes)));
}

std::int64_t NetworkModel::messages(Stage stage) const { return state_->loads_of(stage).messages; }

std::int64_t NetworkModel::pricing_events() const { return state_->pricing_events; }

Fidelity find_fidelity(std::string_view name, const Place& place) {
  if (name == "fluid") return Fidelity::Fluid;
  if (name == "message") return Fidelity::Message;
  static const std::vector<std::string> known = {"alpha-beta", "fluid", "message"};
  throw InputError(place, fmt::format("unknown fidelity '{}'", name), suggest(name, known));
}

}  // namespace allreplay
