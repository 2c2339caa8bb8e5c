#include "sim/training/job.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/cluster/make_topology.hpp"
#include "sim/collective/parameter_server.hpp"
#include "sim/network/alpha_beta.hpp"
#include "sim/network/launch.hpp"
#include "sim/training/caveats.hpp"
#include "sim/training/possible.hpp"
#include "sim/training/sharding.hpp"

namespace allreplay {

namespace {

// At some 40 ns a message, this many take a quarter of an hour.
void require_bearable(const Scenario& scenario, const CollectiveChoice& choice, const Fabric& fabric) {
  constexpr std::int64_t most_messages = 20'000'000'000;
  if (choice.fidelity == Fidelity::Message && fabric.messages(planned_call(scenario)) > most_messages)
    throw InputError(
        scenario.fidelity.empty() ? scenario.cluster.network.place / "fidelity" : scenario.place_of_fidelity,
        fmt::format("one {} among {} workers sends {:.2g} messages", choice.algorithm->name, scenario.workers,
                    static_cast<double>(fabric.messages(planned_call(scenario)))),
        "fluid, or fewer workers");
}

NetworkSetup setup_of(const Scenario& scenario, const CollectiveChoice& choice, const Topology& topology) {
  const Network& network = scenario.cluster.network;
  NetworkSetup setup;
  setup.fidelity = choice.fidelity;
  setup.workers = scenario.workers;
  setup.alpha = network.alpha.value_or(0);
  if (const auto& node = network.node) {
    const double outside = setup.alpha, inside = node->alpha.value_or(outside);
    setup.alpha = std::min(inside, outside);
    setup.levels = {node->workers, inside - setup.alpha, outside - setup.alpha};
  } else if (on_rails(network) || (topology.gpus_per_host() > 1 && topology.group_size() == topology.gpus_per_host())) {
    // Ranks that follow each other fill host after host: hosts are nodes.
    setup.levels.node_workers = topology.gpus_per_host();
  }
  setup.rails = ports_of_a_node(network);
  setup.gamma = network.gamma;
  setup.options = choice.options;
  setup.reuse = scenario.reuse;
  setup.rates = asks_for_rates(scenario);
  setup.calls = {planned_call(scenario)};
  setup.calls.front().algorithm = &choice.of(setup.calls.front().op);
  setup.place = place_of_collective(scenario);
  return setup;
}

std::vector<ServerLeg> legs_of(const Scenario& scenario, const CollectiveChoice& choice) {
  if (!goes_in_legs(*choice.algorithm, choice.options) || scenario.workers == 1) return {};
  return server_legs(scenario.cluster.network, *choice.algorithm, scenario.workers, scenario.cluster.workers,
                     choice.options);
}

ChannelCost price_of(const Call& call, const Scenario& scenario, const CollectiveChoice& choice) {
  if (call.group.ranks == 1) return {CommCost(0, 0), Channels{0}};
  const auto [cost, channels] =
      price_call(scenario.cluster.network, call, scenario.workers, scenario.cluster.workers, choice.options);
  return {cost, channels};
}

std::shared_ptr<const Fabric> launched(std::shared_ptr<const Fabric> fabric, const Options& options, Legs legs = {}) {
  if (options.launch == Time(0) && options.launch_tensor == Time(0) && legs.empty()) return fabric;
  return std::make_shared<LaunchedFabric>(std::move(fabric), options.launch, std::move(legs), options.launch_tensor);
}

// On channels of closed forms. What goes in legs goes all the way there, and back.
std::shared_ptr<const Fabric> on_channels(const Scenario& scenario, const CollectiveChoice& choice) {
  std::vector<Call> calls = possible_calls(scenario, choice);
  ChannelCosts costs;
  for (const Call& call : calls) costs.push_back(price_of(call, scenario, choice));
  const std::vector<ServerLeg> server_legs = legs_of(scenario, choice);
  Legs legs(server_legs.empty() ? 0 : calls.size());
  for (const ServerLeg& leg : server_legs) {
    for (CallId id = 0; id < legs.size(); ++id)
      if (calls[id].op == CollectiveOp::AllReduce || calls[id].op == leg.call.op)
        legs[id].push_back(static_cast<CallId>(calls.size()));
    calls.push_back(leg.call);
    costs.push_back({leg.cost, leg.channels});
  }
  return launched(std::make_shared<AlphaBetaFabric>(std::move(calls), scenario.workers, std::move(costs),
                                                    scenario.options.sharing, asks_for_rates(scenario)),
                  scenario.options, std::move(legs));
}

}  // namespace

Job job_of(Scenario of) {
  Job made{.scenario = std::move(of)};
  const Scenario& scenario = made.scenario;
  made.choice = require_possible(scenario);
  made.compression = compression_of(scenario, *made.choice.algorithm, 1);
  made.warning = caveats_of(scenario, made.choice, made.compression);
  if (!made.choice.detailed()) {
    made.fabric = on_channels(scenario, made.choice);
    return made;
  }
  made.topology = make_topology(*topology_of(scenario.cluster.network), scenario.workers);
  made.setup = setup_of(scenario, made.choice, *made.topology);
  made.rounds = lay_on(made.setup, *made.topology);
  made.fabric = launched(made.rounds, scenario.options);
  require_within_clock(scenario, {made.fabric->price(planned_call(scenario)), made.compression});
  require_bearable(scenario, made.choice, *made.fabric);
  return made;
}

BlockCost price_of_blocks(const Job& job) {
  return {job.fabric->price(planned_call(job.scenario)),
          compression_of(job.scenario, *job.choice.algorithm, slowest_factor(job.scenario)),
          job.fabric->launch_of_tensor()};
}

Job prepared_for(const Plan& plan, Job job) {
  if (!job.choice.detailed()) return job;
  std::vector<Call>& calls = job.setup.calls;
  const std::size_t known = calls.size();
  for (Call& call : calls_of(plan))
    if (!job.fabric->offers(call)) {
      call.algorithm = &job.choice.of(call.op);
      calls.push_back(std::move(call));
    }
  if (calls.size() > known) {
    job.rounds = lay_on(job.setup, *job.topology);
    job.fabric = launched(job.rounds, job.scenario.options);
  }
  return job;
}

}  // namespace allreplay
