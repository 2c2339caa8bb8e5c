#include "sim/training/communication.hpp"

#include <fmt/format.h>

#include "sim/network/alpha_beta.hpp"

namespace allreplay {

Communication communication_of(const Scenario& scenario) {
  const Network& network = scenario.cluster.network;
  const Algorithm& algorithm = scenario.collective.empty() ? find_algorithm(network.collective, network.place / "collective")
                                                           : find_algorithm(scenario.collective, scenario.place);
  const std::string fidelity = scenario.fidelity.empty() ? network.fidelity : scenario.fidelity;
  if (fidelity != "alpha-beta")
    throw InputError(scenario.fidelity.empty() ? network.place / "fidelity" : scenario.place, fmt::format("unknown fidelity '{}'", fidelity),
                     "known: alpha-beta");
  const CollectiveOptions& options = scenario.options.collective;
  const StageCosts stages = price_stages(network, algorithm, scenario.workers, scenario.cluster.workers, options);
  return {std::string(algorithm.name), fidelity, stages[static_cast<std::size_t>(Stage::AllReduce)], stages,
          implausible(network, algorithm, scenario.workers, options)};
}

Time least_time(const Communication& communication, const Plan& plan, Bytes bytes) {
  const auto cost = [&](Stage stage) -> const CommCost& { return communication.stages[static_cast<std::size_t>(stage)]; };
  if (plan.stages == Stages::AllReduce) return cost(Stage::AllReduce).least(bytes);
  const CommCost &first = cost(Stage::ReduceScatter), &second = cost(Stage::AllGather);
  // With several blocks in flight the start-up of an all-gather hides behind others.
  return add(first.least(bytes), plan.window.count > 1 ? second.transfer(bytes) : second.least(bytes));
}

std::unique_ptr<Server> make_network(const Scenario& scenario, const Communication& communication) {
  if (scenario.options.sharing == Sharing::Fair) return std::make_unique<FairChannel>(communication.stages);
  return std::make_unique<SerialChannel>(communication.stages);
}

}  // namespace allreplay
