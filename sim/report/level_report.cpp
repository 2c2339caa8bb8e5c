#include "sim/report/level_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/json_value.hpp"
#include "sim/core/text.hpp"
#include "sim/report/calibration_report.hpp"
#include "sim/report/table.hpp"

namespace allreplay {

namespace {

std::string us(double seconds) { return fmt::format("{} us", seconds * 1e6); }
std::string ns_per_byte(double seconds) { return fmt::format("{} ns/B", seconds * 1e9); }

std::string levels_text(const JsonValue& json) { return json.dump(2) + "\n"; }

const Algorithm& algorithm_of(const LevelOutcome& outcome) { return *outcome.logs.front().algorithm; }
bool is_nccl(const LevelOutcome& outcome) { return algorithm_of(outcome).coefficients == nullptr; }

std::string log_rows(const LevelOutcome& outcome, const Screen& screen) {
  const std::string priced = is_nccl(outcome) ? "nccl" : "two levels";
  Table table({"workers", "nodes", "rows", "line", "table", priced, "worst", "log"});
  for (std::size_t i = 0; i < outcome.logs.size(); ++i) {
    const Calibration& log = outcome.logs[i];
    std::vector<TableCell> row{cell::count(log.workers()),
                               "",
                               cell::count(static_cast<std::int64_t>(log.overall.rows)),
                               cell::percent(log.overall.line_median),
                               cell::percent(log.overall.table_median),
                               "",
                               "",
                               log.log.file};
    if (outcome.fitted) {
      row[1] = cell::count(outcome.fit.errors[i].nodes);
      row[5] = cell::percent(outcome.fit.errors[i].median);
      row[6] = cell::percent(outcome.fit.errors[i].worst);
    }
    table.add(std::move(row));
  }
  return table.text(screen) + "\n";
}

// What is told of one of NCCL's flags.
std::string flag_text(bool known, bool value, const char* yes, const char* no) {
  return !known ? "not known" : value ? yes : no;
}

bool spans_nodes(const LevelFit& fit) {
  return std::any_of(fit.errors.begin(), fit.errors.end(), [](const auto& one) { return one.nodes > 1; });
}

// What is fitted of NCCL between nodes alone; nothing where no log is of several.
std::string between_nodes_rows(const LevelOutcome& outcome, const Screen& screen) {
  const LevelFit& fit = outcome.fit;
  const NcclSetup& nccl = *fit.network.nccl;
  if (!spans_nodes(fit)) return "";
  const auto factor = [&](std::size_t axis, double value) {
    return TableCell(fit.known[axis] ? fmt::format("x {:.4g}", value) : "not known");
  };
  Table rows({"between nodes", "trees", "LL", "rendezvous", "LL128", "tree of two nodes"});
  rows.add(
      {"", factor(tree_bandwidth_outside, nccl.network.tree), factor(ll_bandwidth_outside, nccl.network.ll),
       fit.known[rendezvous_time] && nccl.rendezvous ? cell::seconds(nccl.rendezvous->time) : TableCell("not known"),
       flag_text(fit.ll128_known, nccl.ll128, "yes", "no"),
       flag_text(fit.two_node_tree_known, nccl.two_node_tree, "half of a ring's", "a ring's")});
  return rows.text(screen) + "\n";
}

std::string constant_rows(const LevelOutcome& outcome, const Screen& screen) {
  const Network& network = outcome.fit.network;
  const auto& known = outcome.fit.known;
  const auto said = [](bool is_known, const TableCell& value) { return is_known ? value : TableCell("not known"); };
  Table rows(is_nccl(outcome) ? std::vector<TableColumn>{"level", "bandwidth", "latency"}
                              : std::vector<TableColumn>{"level", "alpha", "bandwidth"});
  if (is_nccl(outcome)) {
    const auto factor = [](double value) { return TableCell(fmt::format("x {:.4g}", value)); };
    rows.add({"inside a node", said(known[0], factor(network.nccl->node.bandwidth)),
              said(known[1], factor(network.nccl->node.latency))});
    rows.add({"between nodes", said(known[2], factor(network.nccl->network.bandwidth)),
              said(known[3], factor(network.nccl->network.latency))});
    if (network.nccl) return rows.text(screen) + "\n" + between_nodes_rows(outcome, screen);
  } else {
    const auto rate = [](double beta) { return TableCell(fmt::format("{:.4g} GB/s", 1e-9 / beta)); };
    rows.add({"inside a node", said(known[1], cell::seconds(*network.node->alpha)),
              said(known[0], rate(*network.node->beta))});
    rows.add({network.node->rails == 1 ? "a node's port" : fmt::format("one of {} ports", network.node->rails),
              said(known[3], cell::seconds(*network.alpha)), said(known[2], rate(*network.beta))});
  }
  return rows.text(screen) + "\n";
}

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

void keep(JsonValue& json, const Json& own, std::initializer_list<std::string_view> but) {
  for (const auto& [key, value] : own.members())
    if (std::find(but.begin(), but.end(), key) == but.end()) json[key] = JsonValue::parse(value.dump());
}

// NCCL's factors are of links that stay as they are.
JsonValue nccl_network(const Network& fitted, const Json& own) {
  JsonValue json = JsonValue::object();
  keep(json, own, {"nccl"});
  json["node"]["workers"] = fitted.node->workers;
  json["rails"] = fitted.node->rails;
  json["nccl"] = nccl_json(*fitted.nccl);
  return json;
}

JsonValue levels_network(const Network& network) {
  JsonValue json{{"node",
                  {{"workers", network.node->workers},
                   {"alpha", us(network.node->alpha.value_or(0))},
                   {"beta", ns_per_byte(network.node->beta.value_or(0))}}},
                 {"alpha", us(network.alpha.value_or(0))},
                 {"beta", ns_per_byte(network.beta.value_or(0))}};
  if (network.gamma > 0) json["gamma"] = ns_per_byte(network.gamma);
  json["rails"] = network.node->rails;
  return json;
}

}  // namespace

std::string levels_text(const LevelOutcome& outcome, const Screen& screen) {
  std::string text = fmt::format("{}: {}, nodes of {}; median error of each, and the worst", algorithm_of(outcome).name,
                                 counted(static_cast<std::int64_t>(outcome.logs.size()), "log"),
                                 counted(outcome.fit.network.node->workers, "worker"));
  text = wrapped(text, screen.width) + "\n\n" + log_rows(outcome, screen);
  if (outcome.fitted) text += constant_rows(outcome, screen);
  const std::string verdict =
      outcome.tables
          ? fmt::format("Tables by number of workers fit better, and --cluster-out writes them: {}.\n", outcome.why)
          : fmt::format("--cluster-out writes the {}.\n",
                        is_nccl(outcome) ? "factors of NCCL's model" : "constants of both levels");
  return text + wrapped(verdict, screen.width);
}

JsonValue levels_json(const LevelOutcome& outcome) {
  const Network& network = outcome.fit.network;
  JsonValue json{{"collective", algorithm_of(outcome).name},
                 {"node_workers", network.node->workers},
                 {"rails", network.node->rails},
                 {"written", outcome.tables     ? "tables"
                             : is_nccl(outcome) ? "nccl"
                                                : "levels"}};
  if (outcome.tables) json["why"] = outcome.why;
  if (outcome.fitted) {
    const auto level = [&](std::size_t at) {
      JsonValue one = JsonValue::object();
      const NcclSetup& nccl = network.nccl.value_or(NcclSetup{});
      const LevelScale& scale = at == 0 ? nccl.node : nccl.network;
      const auto& [alpha, beta] =
          at == 0 ? std::pair(network.node->alpha, network.node->beta) : std::pair(network.alpha, network.beta);
      const auto value = [](bool known, double number) { return known ? JsonValue(number) : JsonValue(nullptr); };
      const bool scales = is_nccl(outcome);
      one[scales ? "bandwidth" : "beta"] = value(outcome.fit.known[at], scales ? scale.bandwidth : *beta);
      one[scales ? "latency" : "alpha"] = value(outcome.fit.known[at + 1], scales ? scale.latency : *alpha);
      return one;
    };
    json["node"] = level(0);
    json["network"] = level(2);
    if (is_nccl(outcome) && spans_nodes(outcome.fit)) {
      const NcclSetup& nccl = *network.nccl;
      const auto value = [&](std::size_t axis, double number) {
        return outcome.fit.known[axis] ? JsonValue(number) : JsonValue(nullptr);
      };
      json["network"]["tree"] = value(tree_bandwidth_outside, nccl.network.tree);
      json["network"]["ll"] = value(ll_bandwidth_outside, nccl.network.ll);
      json["network"]["rendezvous_s"] = value(rendezvous_time, nccl.rendezvous ? nccl.rendezvous->time : 0);
      const auto flag = [](bool known, bool set) { return known ? JsonValue(set) : JsonValue(nullptr); };
      json["network"]["ll128"] = flag(outcome.fit.ll128_known, nccl.ll128);
      json["network"]["two_node_tree"] = flag(outcome.fit.two_node_tree_known, nccl.two_node_tree);
    }
  }
  json["logs"] = JsonValue::array();
  for (std::size_t i = 0; i < outcome.logs.size(); ++i) {
    JsonValue log = calibration_json(outcome.logs[i], outcome.tables);
    if (outcome.fitted) {
      log["nodes"] = outcome.fit.errors[i].nodes;
      log["levels_median"] = outcome.fit.errors[i].median;
      log["levels_worst"] = outcome.fit.errors[i].worst;
    }
    json["logs"].push_back(log);
  }
  json["warnings"] = outcome.fit.warnings;
  return json;
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
  } else if (is_nccl(outcome)) {
    network = nccl_network(fitted, outcome.base.value().at("network"));
  } else {
    network = levels_network(fitted);
    if (outcome.base)
      keep(network, outcome.base->at("network"),
           {"node", "alpha", "beta", "bandwidth", "gamma", "rails", "collective", "tree_bandwidth", "measured", "table",
            "tables", "topology"});
  }
  if (algorithm_of(outcome).operation == CollectiveOp::AllReduce) network["collective"] = algorithm_of(outcome).name;
  if (const auto& log = outcome.logs.front(); !outcome.tables && log.algorithm->option == "tree_bandwidth")
    network["tree_bandwidth"] = "physical";
  JsonValue cluster{{"name", name},
                    {"description", fmt::format("{} among {} workers, {} fitted by allreplay calibrate",
                                                algorithm_of(outcome).name, sizes,
                                                outcome.tables     ? "tables"
                                                : is_nccl(outcome) ? "NCCL's model"
                                                                   : "two levels")},
                    {"source", files},
                    {"workers", outcome.logs.back().workers()},
                    {"network", network}};
  if (outcome.base) keep(cluster, *outcome.base, {"name", "description", "source", "workers", "network"});
  return levels_text(cluster);
}

}  // namespace allreplay
