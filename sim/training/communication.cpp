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
  return {std::string(algorithm.name), fidelity, price(network, algorithm, scenario.workers, scenario.cluster.workers, options),
          implausible(network, algorithm, scenario.workers, options)};
}

std::unique_ptr<Server> make_network(const Scenario& scenario, const Communication& communication) {
  if (scenario.options.sharing == Sharing::Fair) return std::make_unique<FairChannel>(communication.cost);
  return std::make_unique<SerialChannel>(communication.cost);
}

}  // namespace allreplay
