#include "sim/replay/training/collective_choice.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/named.hpp"
#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/plans/collective/nccl.hpp"
#include "sim/plans/collective/network_change.hpp"
#include "sim/plans/collective/parameter_server.hpp"
#include "sim/plans/collective/two_level.hpp"
#include "sim/replay/network/known_networks.hpp"

namespace allreplay {

SourceLocation place_of_collective(const Scenario& scenario) {
  if (!scenario.collective.empty()) return scenario.place_of_collective;
  if (scenario.codec && !scenario.codec->codec->collective.empty()) return scenario.place_of_codec;
  return scenario.cluster.network.place / "collective";
}

std::shared_ptr<const Topology> topology_of(const Scenario& scenario) {
  if (scenario.laid_on) return scenario.laid_on;
  const TopologySpec spec = *topology_of(scenario.cluster.network);
  if (scenario.networks) return scenario.networks->topology(spec, scenario.workers);
  return make_topology(spec, scenario.workers);
}

std::int64_t workers_together(const Scenario& scenario) {
  const Network& network = scenario.cluster.network;
  if (network.node) return network.node->workers;
  return topology_of(scenario)->group_size();
}

std::int64_t gpus_of_a_host(const Network& network) {
  return network.node ? network.node->workers : network.topology ? network.topology->gpus_per_host : 1;
}

bool suits_fluid(const Scenario& scenario, const CollectiveChoice& choice) {
  const Network& network = scenario.cluster.network;
  if (!network.topology || network.beta || network.measured || !network.table.empty() || !network.tables.empty() ||
      network.server || uses_server_legs(*choice.algorithm, choice.options))
    return false;
  for (const Algorithm* one : {choice.algorithm, choice.reduce_scatter, choice.all_gather, choice.all_to_all})
    if (!one->rounds && !network.nccl) return false;
  CollectiveChoice fluid = choice;
  fluid.fidelity = Fidelity::Fluid;
  return scenario.operation || choice.gathers() || fluid.has_halves();
}

namespace {

// Rejects a fidelity in which the network or the algorithm cannot be simulated.
void require_fidelity(const Scenario& scenario, const Algorithm& algorithm, Fidelity fidelity) {
  if (fidelity == Fidelity::AlphaBeta) return;
  const Network& network = scenario.cluster.network;
  const SourceLocation place = scenario.fidelity.empty() ? network.place / "fidelity" : scenario.place_of_fidelity;
  if (algorithm.in_switches && fidelity == Fidelity::Message)
    throw InputError(place, fmt::format("{} is summed in switches, but message only has ranks", algorithm.name),
                     "fluid or alpha-beta");
  if (!algorithm.rounds) require_nccl(network, algorithm.name);
  const auto topology = topology_of(network);
  if (topology && fidelity == Fidelity::Message && topology->routing.kind == Routing::Kind::Adaptive)
    throw InputError(place, "message cannot spread a message over all routes, as routing adaptive does",
                     "fluid, or ecmp or d-mod-k");
  if (!topology)
    throw InputError(
        place,
        fmt::format("{} needs a topology, but the cluster '{}' has none", to_string(fidelity), scenario.cluster.name),
        "alpha-beta, or add \"topology\" to the network; see docs/topologies.md");
}

// Returns the fidelity that the scenario or its cluster names; else fluid if hosts share links, and otherwise
// alpha-beta, which is faster.
Fidelity fidelity_of(const Scenario& scenario, const CollectiveChoice& choice) {
  const Network& network = scenario.cluster.network;
  if (!scenario.fidelity.empty()) return find_fidelity(scenario.fidelity, scenario.place_of_fidelity);
  if (!network.fidelity.empty()) return find_fidelity(network.fidelity, network.place / "fidelity");
  return suits_fluid(scenario, choice) && hosts_share_links(*network.topology) ? Fidelity::Fluid : Fidelity::AlphaBeta;
}

// Sets the options that the topology or the nodes determine.
void set_network_options(const Scenario& scenario, const Algorithm& algorithm, CollectiveChoice& choice) {
  if (scenario.options.parallel.pipeline())
    choice.options.chunks = CollectiveOptions{}.chunks;  // the option belongs to the pipeline
  const auto& spec = scenario.cluster.network.topology;
  if (spec && spec->kind == TopologyKind::BCube) choice.options.levels = spec->k;
  // For nodes without a topology, closed forms find the groups themselves.
  if (algorithm.grouped && (spec || choice.detailed()))
    choice.options.groups = hierarchy_groups(scenario.workers, 1, workers_together(scenario));
  if (algorithm.in_switches) choice.options.hosts = scenario.workers / gpus_of_a_host(scenario.cluster.network);
}

const Algorithm& algorithm_named(const Scenario& scenario, const std::string& name, const SourceLocation& place) {
  const auto file = scenario.collective_files.find(name);
  return file != scenario.collective_files.end() ? file->second->algorithm : find_algorithm(name, place);
}

// Returns the row that implements the operation for this algorithm. Throws InputError if there is none.
const Algorithm& require_serving(const Algorithm& algorithm, CollectiveOp op, const SourceLocation& place) {
  if (const Algorithm* serves = serving(algorithm, op)) return *serves;
  std::vector<std::string_view> names;
  for (const Algorithm& one : algorithms())
    if (serving(one, op)) names.push_back(one.name);
  throw InputError(place, fmt::format("{} does not support the operation {}", algorithm.name, to_string(op)),
                   fmt::format("{}", fmt::join(names, ", ")));
}

const std::string* named_for(const Network& network, CollectiveOp op) {
  for (const auto& [operation, name] : network.by_operation)
    if (operation == to_string(op)) return &name;
  return nullptr;
}

// Chooses the collective of a single operation: the flag's, or the file's for this operation, or the file's general one
// if it supports the operation, or the usual one.
void choose_for_operation(const Scenario& scenario, CollectiveOp op, CollectiveChoice& choice) {
  const Network& network = scenario.cluster.network;
  const SourceLocation in_file = network.place / "collective";
  const std::string* const own = scenario.collective.empty() ? named_for(network, op) : &scenario.collective;
  choice.named = own ? *own : network.collective;
  const SourceLocation place = !scenario.collective.empty() ? scenario.place_of_collective
                               : own                        ? in_file / to_string(op)
                                                            : in_file;
  const Algorithm& named = algorithm_named(scenario, choice.named, place);
  const bool must = own || op == CollectiveOp::AllReduce;
  choice.algorithm = must ? &require_serving(named, op, place) : serving(named, op);
  if (!choice.algorithm) {
    choice.named = operation_row(op).usual;
    choice.algorithm = serving(find_algorithm(choice.named, place), op);
  }
  choice.reduce_scatter = choice.all_gather = choice.all_to_all = choice.broadcast = choice.algorithm;
}

// Chooses the collectives of plans. `by_operation`: the file names collectives for single operations.
void choose_for_plans(const Scenario& scenario, const std::string& name, bool by_operation, CollectiveChoice& choice) {
  const Network& network = scenario.cluster.network;
  const SourceLocation in_file = network.place / "collective";
  choice.named = name;
  choice.algorithm = choice.reduce_scatter = choice.all_gather =
      &algorithm_named(scenario, name, place_of_collective(scenario));
  choice.all_to_all = &find_algorithm(operation_row(CollectiveOp::AllToAll).usual, in_file);
  choice.broadcast = serving(*choice.algorithm, CollectiveOp::Broadcast);
  if (!choice.broadcast) choice.broadcast = &find_algorithm(operation_row(CollectiveOp::Broadcast).usual, in_file);
  if (!by_operation) return;
  if (const std::string* own = named_for(network, CollectiveOp::AllToAll))
    choice.all_to_all = serving(algorithm_named(scenario, *own, in_file), CollectiveOp::AllToAll);
  if (const std::string* own = named_for(network, CollectiveOp::Broadcast))
    choice.broadcast = serving(algorithm_named(scenario, *own, in_file), CollectiveOp::Broadcast);
  for (const auto& [operation, own] : network.by_operation) {
    const CollectiveOp op = choose_by_name(operation_rows, operation, in_file, "unknown operation '{}'").value;
    require_serving(algorithm_named(scenario, own, in_file / operation), op, in_file / operation);
  }
  const auto half = [&](CollectiveOp op) {
    if (const std::string* own = named_for(network, op)) return &algorithm_named(scenario, *own, in_file);
    return choice.algorithm->halves == Halves::None ? &find_algorithm(operation_row(op).usual, in_file)
                                                    : choice.algorithm;
  };
  choice.reduce_scatter = half(CollectiveOp::ReduceScatter);
  choice.all_gather = half(CollectiveOp::AllGather);
}

}  // namespace

std::string collective_named(const Scenario& scenario) {
  const std::string_view coded = scenario.codec ? scenario.codec->codec->collective : "";
  const Network& network = scenario.cluster.network;
  if (!scenario.collective.empty()) return scenario.collective;
  if (!coded.empty()) return std::string(coded);
  const bool nodes = scenario.workers > node_workers_of(network);
  const std::string_view own = scenario.strategy && nodes ? scenario.strategy->collective : "";
  return network.names_collective || own.empty() ? network.collective : std::string(own);
}

CollectiveChoice collective_of(const Scenario& scenario) {
  const Network& network = scenario.cluster.network;
  const bool named = !scenario.collective.empty() || (scenario.codec && !scenario.codec->codec->collective.empty());
  const bool by_operation = !named && !network.by_operation.empty();
  CollectiveChoice choice;
  if (scenario.operation)
    choose_for_operation(scenario, *scenario.operation, choice);
  else
    choose_for_plans(scenario, collective_named(scenario), by_operation, choice);
  choice.options = scenario.options.collective;
  choice.fidelity = fidelity_of(scenario, choice);
  for (const Algorithm* algorithm : {choice.algorithm, choice.reduce_scatter, choice.all_gather}) {
    require_fidelity(scenario, *algorithm, choice.fidelity);
    set_network_options(scenario, *algorithm, choice);
  }
  return choice;
}

std::vector<std::string_view> options_of(const CollectiveChoice& choice) {
  std::vector<std::string_view> names;
  for (const Algorithm* one : {choice.algorithm, choice.reduce_scatter, choice.all_gather}) {
    const std::string_view own = choice.detailed() ? one->message_option : one->option;
    if (!own.empty() && std::find(names.begin(), names.end(), own) == names.end()) names.push_back(own);
  }
  if (uses_server_legs(*choice.algorithm, choice.options)) names.insert(names.end(), {"server_hosts", "local"});
  return names;
}

}  // namespace allreplay
