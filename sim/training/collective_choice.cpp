#include "sim/training/collective_choice.hpp"

#include <fmt/format.h>

#include "sim/cluster/make_topology.hpp"
#include "sim/collective/parameter_server.hpp"

namespace allreplay {

SourceLocation place_of_collective(const Scenario& scenario) {
  if (!scenario.collective.empty()) return scenario.place_of_collective;
  if (scenario.codec && !scenario.codec->codec->collective.empty()) return scenario.place_of_codec;
  return scenario.cluster.network.place / "collective";
}

std::int64_t workers_together(const Network& network, std::int64_t workers) {
  if (network.node) return network.node->workers;
  return make_topology(*network.topology, workers)->group_size();
}

std::int64_t hierarchy_groups(std::int64_t workers, std::int64_t size) {
  return size > 1 && workers % size == 0 ? workers / size : 1;
}

namespace {

Fidelity fidelity_of(const Scenario& scenario, const Algorithm& algorithm) {
  const Network& network = scenario.cluster.network;
  const std::string& name = scenario.fidelity.empty() ? network.fidelity : scenario.fidelity;
  const SourceLocation place = scenario.fidelity.empty() ? network.place / "fidelity" : scenario.place_of_fidelity;
  const Fidelity fidelity = find_fidelity(name, place);
  if (fidelity == Fidelity::AlphaBeta) return fidelity;
  if (!algorithm.rounds)
    throw InputError(place, fmt::format("{} is priced as a whole and has no messages for {}", algorithm.name, name),
                     "alpha-beta");
  if (!topology_of(network))
    throw InputError(place,
                     fmt::format("{} needs a topology, and the cluster '{}' has none", name, scenario.cluster.name),
                     "alpha-beta, or add \"topology\" to the network; see docs/topologies.md");
  return fidelity;
}

// What a topology, and nodes, decide for a collective that runs on them.
CollectiveOptions options_on(const Scenario& scenario, const Algorithm& algorithm, Fidelity fidelity) {
  CollectiveOptions options = scenario.options.collective;
  if (scenario.options.parallel.pipeline()) options.chunks = CollectiveOptions{}.chunks;  // those are the pipeline's
  const auto& spec = scenario.cluster.network.topology;
  if (spec && spec->kind == TopologyKind::BCube) options.levels = spec->k;
  // Of nodes without a topology, closed forms know themselves.
  if (algorithm.grouped && (spec || fidelity != Fidelity::AlphaBeta))
    options.groups = hierarchy_groups(scenario.workers, workers_together(scenario.cluster.network, scenario.workers));
  return options;
}

}  // namespace

CollectiveChoice collective_of(const Scenario& scenario) {
  const std::string_view coded = scenario.codec ? scenario.codec->codec->collective : "";
  const std::string name = !scenario.collective.empty() ? scenario.collective
                           : !coded.empty()             ? std::string(coded)
                                                        : scenario.cluster.network.collective;
  const Algorithm& algorithm = find_algorithm(name, place_of_collective(scenario));
  const Fidelity fidelity = fidelity_of(scenario, algorithm);
  CollectiveOptions options = options_on(scenario, algorithm, fidelity);
  return {&algorithm, fidelity, std::move(options)};
}

std::vector<std::string_view> options_of(const CollectiveChoice& choice) {
  std::vector<std::string_view> names;
  const std::string_view own = choice.detailed() ? choice.algorithm->message_option : choice.algorithm->option;
  if (!own.empty()) names.push_back(own);
  if (goes_in_legs(*choice.algorithm, choice.options)) names.insert(names.end(), {"server_hosts", "local"});
  return names;
}

}  // namespace allreplay
