#include "sim/training/communication.hpp"

#include <fmt/format.h>

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
    throw InputError(scenario.cluster.network.place, fmt::format("{} workers would communicate for over a day per iteration", scenario.workers),
                     "check the units of alpha, beta or what was measured");
}

}  // namespace

Communication communication_of(const Scenario& scenario) {
  const Network& network = scenario.cluster.network;
  const Algorithm& algorithm = scenario.collective.empty() ? find_algorithm(network.collective, network.place / "collective")
                                                           : find_algorithm(scenario.collective, scenario.place);
  const std::string fidelity = scenario.fidelity.empty() ? network.fidelity : scenario.fidelity;
  if (fidelity != "alpha-beta")
    throw InputError(scenario.fidelity.empty() ? network.place / "fidelity" : scenario.place, fmt::format("unknown fidelity '{}'", fidelity),
                     "known: alpha-beta");
  const CollectiveOptions& options = scenario.options.collective;
  if (algorithm.option == "servers" && options.servers > scenario.workers)
    throw InputError(network.place, fmt::format("{} servers do not fit on {} workers", options.servers, scenario.workers), "at most one server a worker (option servers)");
  const CommCost cost = price(network, algorithm, scenario.workers, scenario.cluster.workers, options);
  require_within_clock(scenario, cost);
  return {std::string(algorithm.name), fidelity, cost, implausible(network, algorithm, scenario.workers, options)};
}

std::unique_ptr<Server> make_network(const Scenario& scenario, const Communication& communication) {
  if (scenario.options.sharing == Sharing::Fair) return std::make_unique<FairChannel>(communication.cost);
  return std::make_unique<SerialChannel>(communication.cost);
}

}  // namespace allreplay
