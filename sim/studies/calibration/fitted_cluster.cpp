#include "sim/studies/calibration/fitted_cluster.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/json_value.hpp"
#include "sim/replay/training/options.hpp"

namespace allreplay {

namespace {

std::string us(double seconds) { return fmt::format("{} us", seconds * 1e6); }
std::string ns_per_byte(double seconds) { return fmt::format("{} ns/B", seconds * 1e9); }

const Algorithm& algorithm_of(const LevelOutcome& outcome) { return *outcome.logs.front().algorithm; }

JsonValue table_json(const std::vector<CostPoint>& table) {
  auto json = JsonValue::array();
  for (const CostPoint& point : table)
    json.push_back({{"bytes", fmt::format("{} B", point.bytes)}, {"time", us(point.seconds)}});
  return json;
}

JsonValue nccl_json(const NcclSetup& nccl) {
  static constexpr const char* gpus[] = {"v100", "a100", "h100", "b200"};
  JsonValue json{{"gpu", gpus[static_cast<std::size_t>(nccl.gpu)]},
                 {"link", nccl.pcie ? "pcie" : "nvlink"},
                 {"cpu", nccl.amd ? "amd" : "intel"}};
  if (nccl.channels) json["channels"] = *nccl.channels;
  json["nvls"] = nccl.nvls;
  json["ll128"] = nccl.ll128;
  json["two_node_tree"] = nccl.two_node_tree;
  if (nccl.pat) json["pat"] = true;
  if (nccl.rendezvous)
    json["rendezvous"] = {{"from", fmt::format("{} B", nccl.rendezvous->from)}, {"time", us(nccl.rendezvous->time)}};
  const auto scale = [](const LevelScale& level) {
    return JsonValue{{"bandwidth", level.bandwidth}, {"latency", level.latency}};
  };
  json["scale"] = {{"node", scale(nccl.node)}, {"network", scale(nccl.network)}};
  json["scale"]["network"]["tree"] = nccl.network.tree;
  json["scale"]["network"]["ll"] = nccl.network.ll;
  return json;
}

// Copies the members of an object, except some.
void copy_members(JsonValue& json, const Json& own, std::initializer_list<std::string_view> but) {
  for (const auto& [key, value] : own.members())
    if (std::find(but.begin(), but.end(), key) == but.end()) json[key] = JsonValue::parse(value.dump());
}

// The bandwidth between nodes by the number of nodes.
JsonValue bandwidth_by_nodes_json(const Network& network) {
  auto list = JsonValue::array();
  for (const ValueOfNodes& one : network.beta_of_nodes)
    list.push_back({{"nodes", one.nodes}, {"bandwidth", fmt::format("{} GB/s", 1e-9 / one.value)}});
  return list;
}

// Keeps the links, whose speeds NCCL's factors multiply.
JsonValue nccl_network(const LevelFit& fit, const Json& own) {
  const Network& fitted = fit.network;
  JsonValue json = JsonValue::object();
  if (fit.by_nodes) {
    copy_members(json, own, {"nccl", "beta", "bandwidth"});
    json["bandwidth"] = bandwidth_by_nodes_json(fitted);
  } else {
    copy_members(json, own, {"nccl"});
  }
  json["node"]["workers"] = fitted.node->workers;
  json["rails"] = fitted.node->rails;
  json["nccl"] = nccl_json(*fitted.nccl);
  return json;
}

JsonValue levels_network(const LevelFit& fit) {
  const Network& network = fit.network;
  JsonValue json{{"node",
                  {{"workers", network.node->workers},
                   {"alpha", us(network.node->alpha.value_or(0))},
                   {"beta", ns_per_byte(network.node->beta.value_or(0))}}},
                 {"alpha", us(network.alpha.value_or(0))}};
  if (fit.by_nodes)
    json["bandwidth"] = bandwidth_by_nodes_json(network);
  else
    json["beta"] = ns_per_byte(network.beta.value_or(0));
  if (network.gamma > 0) json["gamma"] = ns_per_byte(network.gamma);
  json["rails"] = network.node->rails;
  return json;
}

}  // namespace

std::pair<std::string, std::string> coefficient_option(const Calibration& calibration) {
  const std::string name(calibration.algorithm->option);
  if (name.empty()) return {};
  Options options;
  options.collective = calibration.options;
  return {name, options.get(name)};
}

std::string calibration_cluster(const Calibration& calibration, const std::string& name, bool table,
                                std::optional<double> line_rate, const SourceLocation& place,
                                std::optional<std::int64_t> node_workers) {
  const MeasurementLog& log = calibration.log;
  const bool all_reduce = calibration.algorithm->operation == CollectiveOp::AllReduce;
  JsonValue network = JsonValue::object();
  if (node_workers) network["node"] = {{"workers", *node_workers}};
  if (table) {
    if (!all_reduce)
      throw InputError(place, fmt::format("{} does not sum gradients", calibration.algorithm->name),
                       "leave out --table: the line can be converted to an all-reduce");
    network["table"] = table_json(calibration.table.table);
  } else {
    if (calibration.line.b_held)
      throw InputError(place, "times that do not grow with the size give no time per byte",
                       "a log of larger sizes, or --table");
    network["measured"] = {{"collective", calibration.algorithm->name},
                           {"workers", calibration.workers()},
                           {"a", us(calibration.line.a)},
                           {"b", ns_per_byte(calibration.line.b)},
                           {"gamma", ns_per_byte(calibration.gamma)}};
  }
  if (all_reduce) network["collective"] = calibration.algorithm->name;
  if (line_rate) network["line_rate"] = fmt::format("{} bit/s", *line_rate * 8);
  if (const auto [option, value] = coefficient_option(calibration); option == "servers")
    network[option] = calibration.options.servers;
  else if (!option.empty())
    network[option] = value;
  const JsonValue cluster{
      {"name", name},
      {"description", fmt::format("{} with {} workers, fitted by allreplay calibrate to {} sizes from {} to {}",
                                  calibration.algorithm->name, calibration.workers(), calibration.overall.rows,
                                  write_size(calibration.overall.from), write_size(calibration.largest()))},
      {"source", log.file},
      {"workers", calibration.workers()},
      {"network", network}};
  return json_text(cluster, 2) + "\n";
}

std::string levels_cluster(const LevelOutcome& outcome, const std::string& name, const SourceLocation& place) {
  const Network& fitted = outcome.fit.network;
  std::string files, sizes;
  for (const Calibration& log : outcome.logs) {
    files += (files.empty() ? "" : ", ") + log.log.file;
    sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", log.workers());
  }
  JsonValue network;
  if (outcome.tables) {
    if (algorithm_of(outcome).operation != CollectiveOp::AllReduce)
      throw InputError(place, fmt::format("{} does not sum gradients", algorithm_of(outcome).name),
                       "tables are of all-reduces");
    network["node"] = {{"workers", fitted.node->workers}};
    for (const Calibration& log : outcome.logs)
      network["tables"].push_back({{"workers", log.workers()}, {"table", table_json(log.table.table)}});
  } else if (outcome.is_nccl()) {
    network = nccl_network(outcome.fit, outcome.base.value().at("network"));
  } else {
    network = levels_network(outcome.fit);
    if (outcome.base)
      copy_members(network, outcome.base->at("network"),
                   {"node", "alpha", "beta", "bandwidth", "gamma", "rails", "collective", "tree_bandwidth", "measured",
                    "table", "tables", "topology"});
  }
  if (algorithm_of(outcome).operation == CollectiveOp::AllReduce) network["collective"] = algorithm_of(outcome).name;
  if (const auto& log = outcome.logs.front(); !outcome.tables && log.algorithm->option == "tree_bandwidth")
    network["tree_bandwidth"] = "physical";
  JsonValue cluster{{"name", name},
                    {"description", fmt::format("{} among {} workers, {} fitted by allreplay calibrate",
                                                algorithm_of(outcome).name, sizes,
                                                outcome.tables      ? "tables"
                                                : outcome.is_nccl() ? "NCCL's model"
                                                                    : "two levels")},
                    {"source", files},
                    {"workers", outcome.logs.back().workers()},
                    {"network", network}};
  if (outcome.base) copy_members(cluster, *outcome.base, {"name", "description", "source", "workers", "network"});
  return json_text(cluster, 2) + "\n";
}

}  // namespace allreplay
