#include "sim/training/communication.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/cluster/make_topology.hpp"
#include "sim/network/alpha_beta.hpp"

namespace allreplay {

namespace {

constexpr double longest_iteration_s = 1e5;  // over a day: a mistaken unit, and soon the end of the clock

// The costs may each be acceptable, and an iteration yet beyond the clock: said before anything is simulated.
void require_within_clock(const Scenario& scenario, const CommCost& cost) {
  double seconds = 0;
  try {
    seconds = to_seconds(cost(scenario.profile.bytes()));
    for (const Tensor& tensor : scenario.profile.tensors) seconds += to_seconds(cost(tensor.bytes));
  } catch (const TimeOverflow&) {
    seconds = longest_iteration_s * 2;
  }
  if (seconds > longest_iteration_s)
    throw InputError(scenario.cluster.network.place,
                     fmt::format("{} workers would communicate for over a day per iteration", scenario.workers),
                     "check the units of alpha, beta or what was measured");
}

// Slices beyond this are a slip of the unit, and would fill the memory.
void require_bearable(const Scenario& scenario) {
  constexpr Bytes most_slices = 1'000'000;
  const auto& partition = scenario.options.strategy.partition;
  if (scenario.strategy && scenario.strategy->partition > 0 && partition &&
      scenario.profile.bytes() / *partition > most_slices)
    throw InputError(scenario.options.place_of("partition"),
                     fmt::format("{} cut {} into more than {} slices", write_size(*partition),
                                 format_size(scenario.profile.bytes()), most_slices),
                     fmt::format("at least {}", format_size(scenario.profile.bytes() / most_slices + 1)));
}

// At some 40 ns a message, this many take a quarter of an hour.
void require_bearable(const Scenario& scenario, const Carrier& carrier, const NetworkModel& model) {
  constexpr std::int64_t most_messages = 20'000'000'000;
  if (carrier.fidelity == "message" && model.messages() > most_messages)
    throw InputError(
        scenario.fidelity.empty() ? scenario.cluster.network.place / "fidelity" : scenario.place_of_fidelity,
        fmt::format("one {} among {} workers sends {:.2g} messages", carrier.algorithm->name, scenario.workers,
                    static_cast<double>(model.messages())),
        "fluid, or fewer workers");
}

// What a topology makes of a collective against its name.
std::string caveat(const Scenario& scenario, const Carrier& carrier, const Topology& topology) {
  const std::int64_t size = topology.group_size();
  if (carrier.algorithm->name != "hierarchical" || size <= 1 || scenario.workers <= size ||
      scenario.workers % size == 0)
    return "";
  return fmt::format("{} workers do not fill groups of {}: hierarchical runs as one group, a ring", scenario.workers,
                     size);
}

Place place_of_collective(const Scenario& scenario) {
  return scenario.collective.empty() ? scenario.cluster.network.place / "collective" : scenario.place_of_collective;
}

std::string fidelity_of(const Scenario& scenario) {
  const Network& network = scenario.cluster.network;
  const std::string& name = scenario.fidelity.empty() ? network.fidelity : scenario.fidelity;
  const Place place = scenario.fidelity.empty() ? network.place / "fidelity" : scenario.place_of_fidelity;
  if (name == "alpha-beta") return name;
  find_fidelity(name, place);
  if (!network.topology)
    throw InputError(place,
                     fmt::format("{} needs a topology, and the cluster '{}' has none", name, scenario.cluster.name),
                     "alpha-beta, or add \"topology\" to the network; see docs/topologies.md");
  return name;
}

// What a topology decides for a collective that runs on it.
CollectiveOptions options_on(const Scenario& scenario, const Algorithm& algorithm) {
  CollectiveOptions options = scenario.options.collective;
  const auto& spec = scenario.cluster.network.topology;
  if (!spec) return options;
  if (spec->kind == TopologyKind::BCube) options.levels = spec->k;
  if (algorithm.name != "hierarchical") return options;
  const std::int64_t size = make_topology(*spec, scenario.workers)->group_size();
  if (size > 1 && scenario.workers > size && scenario.workers % size == 0) options.groups = scenario.workers / size;
  return options;
}

bool detailed(const Carrier& carrier) { return carrier.fidelity != "alpha-beta"; }

NetworkSetup setup_of(const Scenario& scenario, const Carrier& carrier) {
  const Network& network = scenario.cluster.network;
  NetworkSetup setup;
  setup.fidelity = find_fidelity(carrier.fidelity, {});
  setup.algorithm = carrier.algorithm;
  setup.workers = scenario.workers;
  setup.alpha = network.alpha.value_or(0);
  setup.gamma = network.gamma;
  setup.options = carrier.options;
  setup.reuse = scenario.reuse;
  setup.place = place_of_collective(scenario);
  return setup;
}

}  // namespace

Carrier carrier_of(const Scenario& scenario) {
  const std::string& name = scenario.collective.empty() ? scenario.cluster.network.collective : scenario.collective;
  const Algorithm& algorithm = find_algorithm(name, place_of_collective(scenario));
  return {&algorithm, fidelity_of(scenario), options_on(scenario, algorithm)};
}

std::string_view option_of(const Carrier& carrier) {
  return detailed(carrier) ? carrier.algorithm->message_option : carrier.algorithm->option;
}

void require_possible(const Scenario& scenario) {
  const Carrier carrier = carrier_of(scenario);
  const Network& network = scenario.cluster.network;
  if (!scenario.profile.tensors.empty() && carrier.algorithm->purpose != Purpose::AllReduce)
    throw InputError(place_of_collective(scenario), fmt::format("{} does not sum gradients", carrier.algorithm->name),
                     "an all-reduce, such as ring");
  if (carrier.algorithm->option == "servers" && carrier.options.servers > scenario.workers)
    throw InputError(scenario.options.place_of("servers"),
                     fmt::format("{} servers do not fit on {} workers", carrier.options.servers, scenario.workers),
                     "at most one server a worker");
  require_bearable(scenario);
  if (!detailed(carrier)) {
    require_within_clock(
        scenario, price(network, *carrier.algorithm, scenario.workers, scenario.cluster.workers, carrier.options));
    return;
  }
  make_topology(*network.topology, scenario.workers);
  if (scenario.workers > 1)
    carrier.algorithm->rounds(scenario.workers, carrier.options, Stage::AllReduce, place_of_collective(scenario));
}

Communication communication_of(const Scenario& scenario) {
  require_possible(scenario);
  const Carrier carrier = carrier_of(scenario);
  const Network& network = scenario.cluster.network;
  if (!detailed(carrier)) {
    const StageCosts stages =
        price_stages(network, *carrier.algorithm, scenario.workers, scenario.cluster.workers, carrier.options);
    return {carrier, stages[static_cast<std::size_t>(Stage::AllReduce)],
            stages,  implausible(network, *carrier.algorithm, scenario.workers, carrier.options),
            {},      nullptr,
            nullptr};
  }
  std::shared_ptr<const Topology> topology = make_topology(*network.topology, scenario.workers);
  const NetworkSetup setup = setup_of(scenario, carrier);
  auto model = std::make_shared<const NetworkModel>(setup, *topology);
  const CommCost cost = model->cost();
  require_within_clock(scenario, cost);
  require_bearable(scenario, carrier, *model);
  return {carrier,         cost, {cost, cost, cost}, caveat(scenario, carrier, *topology), setup, std::move(topology),
          std::move(model)};
}

Communication prepared_for(const Plan& plan, Communication communication) {
  if (communication.model && plan.stages == Stages::Split && !communication.setup.split) {
    communication.setup.split = true;
    communication.model = std::make_shared<const NetworkModel>(communication.setup, *communication.topology);
  }
  return communication;
}

Time least_time(const Communication& communication, const Plan& plan, Bytes bytes) {
  const bool several = plan.window.count > 1;
  const bool split = plan.stages == Stages::Split;
  if (const auto& model = communication.model) {
    if (several) return model->least(bytes, split ? Stage::ReduceScatter : Stage::AllReduce);
    return split ? add(model->alone(bytes, Stage::ReduceScatter), model->alone(bytes, Stage::AllGather))
                 : model->alone(bytes);
  }
  const auto cost = [&](Stage stage) -> const CommCost& {
    return communication.stages[static_cast<std::size_t>(stage)];
  };
  if (!split) return cost(Stage::AllReduce).least(bytes);
  const CommCost &first = cost(Stage::ReduceScatter), &second = cost(Stage::AllGather);
  // With several blocks in flight the start-up of an all-gather hides behind others.
  return add(first.least(bytes), several ? second.transfer(bytes) : second.least(bytes));
}

std::unique_ptr<Server> make_network(const Communication& communication, Sharing sharing) {
  if (communication.model) return communication.model->server();
  if (sharing == Sharing::Fair) return std::make_unique<FairChannel>(communication.stages);
  return std::make_unique<SerialChannel>(communication.stages);
}

}  // namespace allreplay
