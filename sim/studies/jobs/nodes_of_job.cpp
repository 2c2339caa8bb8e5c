#include "sim/studies/jobs/nodes_of_job.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "sim/inputs/cluster/make_topology.hpp"

namespace allreplay {

std::int64_t nodes_of_job(const Scenario& scenario) {
  const Network& network = scenario.cluster.network;
  if (network.node) return (scenario.workers + network.node->workers - 1) / network.node->workers;
  if (!network.topology) return scenario.workers;
  const auto topology = make_topology(*network.topology, scenario.workers);
  std::set<std::int64_t> machines;
  for (std::int64_t rank = 0; rank < scenario.workers; ++rank)
    machines.insert(topology->seat(static_cast<NodeId>(rank)) / topology->gpus_per_host());
  return static_cast<std::int64_t>(machines.size());
}

GoodputJob goodput_job(Library& library, const Request& request, const Outcome& outcome) {
  const std::int64_t workers = outcome.scenario.workers, nodes = nodes_of_job(outcome.scenario);
  const std::int64_t on_each = (workers + nodes - 1) / nodes;
  const Metrics& metrics = outcome.result.metrics;
  const double throughput = static_cast<double>(workers) / metrics.iteration_s;
  const auto relative = [&library, request, workers, on_each, throughput,
                         known = std::make_shared<std::map<std::int64_t, double>>()](std::int64_t some_nodes) {
    const auto [one, fresh] = known->emplace(some_nodes, 1);
    if (!fresh) return one->second;
    Request fewer = request;
    fewer.workers = std::min(some_nodes * on_each, workers);
    const double iteration_s = run(library.resolve(fewer)).result.metrics.iteration_s;
    return one->second = static_cast<double>(*fewer.workers.value) / iteration_s / throughput;
  };
  return {nodes, metrics.iteration_s, metrics.samples_per_s, relative};
}

}  // namespace allreplay
