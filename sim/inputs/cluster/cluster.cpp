#include "sim/inputs/cluster/cluster.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/collective_op.hpp"

namespace allreplay {

namespace {

// The run's options that a cluster file can set, with the names that --option has.
constexpr std::string_view network_options[] = {
    "sharing",       "servers",    "server_hosts", "local",          "chunks",         "tree_bandwidth", "launch",
    "launch_tensor", "accumulate", "zero",         "barrier",        "shard_group",    "update",         "host_block",
    "host_step",     "state",      "memory",       "gradient_dtype", "parameter_dtype"};

double positive(const Json& json, double value) {
  if (value <= 0) json.fail(fmt::format("{} is not above zero", json.dump()), "a positive value");
  return value;
}

MeasuredCost read_measured(const Json& json) {
  json.allow_only({"collective", "workers", "a", "b", "gamma"});
  MeasuredCost cost;
  cost.collective = json.at("collective").text();
  cost.workers = json.at("workers").integer(2, most_workers);
  cost.a = json.at("a").duration();
  cost.b = positive(json.at("b"), json.at("b").per_byte());
  if (const auto gamma = json.find("gamma")) cost.gamma = gamma->per_byte();
  cost.place = json.place();
  return cost;
}

std::vector<CostPoint> read_table(const Json& json) {
  std::vector<CostPoint> points;
  for (const Json& item : json.items()) {
    item.allow_only({"bytes", "time"});
    const CostPoint point{item.at("bytes").size(), positive(item.at("time"), item.at("time").duration())};
    const Bytes before = points.empty() ? 0 : points.back().bytes;
    if (point.bytes <= before)
      item.at("bytes").fail(fmt::format("{} B do not exceed the {} B before", point.bytes, before),
                            "sizes above zero, in increasing order");
    points.push_back(point);
  }
  if (points.size() < 2) json.fail(fmt::format("has {} sizes", points.size()), "at least two");
  // Larger sizes are extrapolated with the slope of the last two.
  if (points.back().seconds < points[points.size() - 2].seconds)
    json.items().back().at("time").fail(
        "is less than the time of the smaller size before it, and the table would be extrapolated downwards",
        "times that do not decrease at the end; leave out one of the two");
  return points;
}

std::vector<WorkersTable> read_tables(const Json& json) {
  std::vector<WorkersTable> tables;
  for (const Json& item : json.items()) {
    item.allow_only({"workers", "table"});
    const std::int64_t before = tables.empty() ? 1 : tables.back().workers;
    tables.push_back({item.at("workers").integer(2, most_workers), read_table(item.at("table"))});
    if (tables.back().workers <= before)
      item.at("workers").fail(fmt::format("{} workers do not exceed the {} before", tables.back().workers, before),
                              "numbers of workers in increasing order");
  }
  if (tables.empty()) json.fail("has no table", "at least one");
  return tables;
}

// With one GPU per host, a topology other than rail can still model nodes by its links.
void require_same_nodes(const Json& workers, std::int64_t count, const TopologySpec& topology) {
  const std::int64_t gpus = topology.gpus_per_host;
  if (count != gpus && (gpus > 1 || topology.kind == TopologyKind::Rail))
    workers.fail(fmt::format("{} contradict the topology's {} GPUs per host", count, gpus), fmt::format("{}", gpus));
}

// Reads "rails", which has to agree with the topology's ports, and defaults to them.
std::int64_t read_rails(const Json& network, std::int64_t node_workers, const std::optional<TopologySpec>& topology) {
  const bool has_rails = topology && (topology->kind == TopologyKind::Rail || topology->nics);
  const auto json = network.find("rails");
  if (!json) return has_rails ? topology->ports_of_host() : 1;
  const std::int64_t rails = json->integer(1, most_workers);
  if (rails > node_workers)
    json->fail(fmt::format("{} network ports among the {} workers of a node", rails, node_workers),
               fmt::format("at most {}", node_workers));
  if (has_rails && rails != topology->ports_of_host())
    json->fail(fmt::format("{} contradict the topology's {} {}", rails, topology->ports_of_host(),
                           topology->nics ? "nics" : "rails"),
               fmt::format("{}", topology->ports_of_host()));
  const bool drawn = has_rails || (topology && topology->kind == TopologyKind::Graph);
  if (topology && !drawn && rails > 1)
    json->fail(fmt::format("{} network ports contradict the topology, whose kind {} has none for single GPUs", rails,
                           kind_name(topology->kind)),
               "\"nics\" in the topology, one of kind rail, or none: \"node\" stands for one");
  return rails;
}

void require_rate(const Json& json) {
  if (!json.find("beta") && !json.find("bandwidth"))
    json.fail("the key 'bandwidth' (or 'beta') is missing", "add \"bandwidth\"; see docs/formats.md");
}

// Reads "beta" or "bandwidth".
std::optional<double> read_time_per_byte(const Json& json) {
  const auto beta = json.find("beta"), rate = json.find("bandwidth");
  if (beta && rate) rate->fail("repeats beta", "one of the two");
  if (beta) return beta->per_byte();
  return rate ? std::optional(1 / positive(*rate, rate->rate())) : std::nullopt;
}

// `links`: true if the network gives the costs of links instead of whole collectives.
NodeLevel read_node(const Json& network, bool links, const std::optional<TopologySpec>& topology) {
  const Json json = network.at("node");
  json.allow_only({"workers", "alpha", "beta", "bandwidth"});
  NodeLevel node;
  node.workers = json.at("workers").integer(1, most_workers);
  node.beta = read_time_per_byte(json);
  if (links) {
    json.at("alpha");
    require_rate(json);
  }
  if (const auto alpha = json.find("alpha")) node.alpha = alpha->duration();
  if (topology) require_same_nodes(json.at("workers"), node.workers, *topology);
  node.rails = read_rails(network, node.workers, topology);
  node.place = json.place();
  return node;
}

double read_alpha(const Json& json) { return json.duration(); }
double read_beta(const Json& json) { return json.per_byte(); }
double read_bandwidth(const Json& json) { return 1 / positive(json, json.rate()); }

// Reads one value of a key, or one for each of several numbers of nodes. Returns the first, to be used until
// settle_by_nodes() chooses.
double read_by_nodes(const Json& network, const std::string& key, double (*read)(const Json&), std::string_view example,
                     std::vector<ValueOfNodes>& by_nodes) {
  const Json json = network.at(key);
  if (!json.is_array()) return read(json);
  for (const Json& item : json.items()) {
    item.allow_only({"nodes", key});
    const ValueOfNodes one{item.at("nodes").integer(1, most_workers), read(item.at(key))};
    const std::int64_t before = by_nodes.empty() ? 0 : by_nodes.back().nodes;
    if (one.nodes <= before)
      item.at("nodes").fail(fmt::format("{} nodes do not exceed the {} before", one.nodes, before),
                            "numbers of nodes in increasing order");
    by_nodes.push_back(one);
  }
  if (by_nodes.empty()) json.fail("is empty", fmt::format(R"({{"nodes": 2, "{}": "{}"}}, for instance)", key, example));
  return by_nodes.front().value;
}

// Reads the costs of links between nodes.
void read_links(const Json& json, Network& network) {
  if (json.find("alpha")) network.alpha = read_by_nodes(json, "alpha", read_alpha, "120 us", network.alpha_of_nodes);
  if (json.find("beta")) network.beta = read_by_nodes(json, "beta", read_beta, "0.1 ns/B", network.beta_of_nodes);
  network.gives_bandwidth = json.find("bandwidth").has_value();
  if (network.gives_bandwidth)
    network.beta = read_by_nodes(json, "bandwidth", read_bandwidth, "10 GB/s", network.beta_of_nodes);
  if (const auto gamma = json.find("gamma")) network.gamma = gamma->per_byte();
}

ServerLinks read_server(const Json& json) {
  json.allow_only({"alpha", "beta", "bandwidth"});
  ServerLinks server;
  if (const auto alpha = json.find("alpha")) server.alpha = alpha->duration();
  server.beta = read_time_per_byte(json);
  if (!server.alpha && !server.beta) json.fail("does not describe the servers' links", "alpha, beta or bandwidth");
  return server;
}

// Returns the index of the word that a key holds; 0 if the key is missing.
std::size_t one_of(const Json& json, std::string_view key, const std::vector<std::string>& words) {
  const auto value = json.find(key);
  if (!value) return 0;
  const std::string text = value->text();
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) value->fail(fmt::format("unknown {} '{}'", key, text), suggest(text, words));
  return static_cast<std::size_t>(found - words.begin());
}

void read_factor(const Json& json, std::string_view key, double& factor) {
  if (const auto value = json.find(key)) factor = positive(*value, value->number());
}

void read_scale(const Json& json, LevelScale& scale) {
  read_factor(json, "bandwidth", scale.bandwidth);
  read_factor(json, "latency", scale.latency);
}

void read_scales(const Json& json, NcclSetup& nccl) {
  json.allow_only({"node", "network"});
  if (const auto level = json.find("node")) {
    level->allow_only({"bandwidth", "latency"});
    read_scale(*level, nccl.node);
  }
  if (const auto level = json.find("network")) {
    level->allow_only({"bandwidth", "latency", "tree", "ll"});
    read_scale(*level, nccl.network);
    read_factor(*level, "tree", nccl.network.tree);
    read_factor(*level, "ll", nccl.network.ll);
  }
}

NcclRendezvous read_rendezvous(const Json& json) {
  json.allow_only({"from", "time"});
  return {json.at("from").size(), json.at("time").duration()};
}

NcclSetup read_nccl(const Json& network) {
  const Json json = network.at("nccl");
  json.allow_only({"gpu", "link", "cpu", "channels", "nvls", "ll128", "two_node_tree", "pat", "rendezvous", "scale"});
  const std::string_view nodes = network.find("topology") ? "topology" : "node";
  for (const std::string_view level : {nodes, std::string_view("alpha")})
    if (!network.find(level))
      json.fail(fmt::format("is in a network without \"{}\"", level),
                "a network of two levels: node, alpha and bandwidth; or alpha and a topology");
  NcclSetup nccl;
  json.at("gpu");
  nccl.gpu = static_cast<NcclSetup::Gpu>(one_of(json, "gpu", {"v100", "a100", "h100", "b200"}));
  nccl.pcie = one_of(json, "link", {"nvlink", "pcie"}) == 1;
  nccl.amd = one_of(json, "cpu", {"intel", "amd"}) == 1;
  if (const auto channels = json.find("channels")) nccl.channels = channels->integer(1, 1024);
  if (const auto flag = json.find("nvls")) nccl.nvls = flag->boolean();
  if (const auto flag = json.find("ll128")) nccl.ll128 = flag->boolean();
  if (const auto flag = json.find("two_node_tree")) nccl.two_node_tree = flag->boolean();
  if (const auto flag = json.find("pat")) nccl.pat = flag->boolean();
  if (const auto rendezvous = json.find("rendezvous")) nccl.rendezvous = read_rendezvous(*rendezvous);
  if (const auto scale = json.find("scale")) read_scales(*scale, nccl);
  nccl.place = json.place();
  return nccl;
}

MessageCost read_message_cost(const Json& json) {
  json.allow_only({"alpha", "beta", "bandwidth"});
  MessageCost cost{json.at("alpha").duration(), 0};
  const auto beta = json.find("beta"), rate = json.find("bandwidth");
  if (beta.has_value() == rate.has_value()) json.fail("does not say how fast bytes move", "\"beta\" or \"bandwidth\"");
  cost.beta = beta ? beta->per_byte() : 1 / positive(*rate, rate->rate());
  return cost;
}

// Reads "parallel" as options, which are checked when they are used.
std::vector<std::pair<std::string, std::string>> read_parallel(const Json& json) {
  json.allow_only({"pp", "tp", "cp", "ep", "schedule", "chunks", "stages"});
  std::vector<std::pair<std::string, std::string>> options;
  for (const auto& [key, value] : json.members()) {
    std::string text = value.is_string() ? value.text() : value.dump();
    if (value.is_array()) {  // of numbers
      text.clear();
      for (const Json& one : value.items()) text += (text.empty() ? "" : ",") + one.dump();
    }
    options.emplace_back(key, std::move(text));
  }
  return options;
}

// Rejects values that do not fit together.
void require_consistent(const Json& json, const Network& network) {
  if (network.nccl && network.node && !(network.node->beta > 0.0 && network.beta > 0.0))
    json.at("nccl").fail("needs links with a bandwidth", "a bandwidth of both levels");
  if (network.nccl && !network.node && network.topology->link.bandwidth == 0)
    json.at("nccl").fail("needs the bandwidth of a host's port, which this graph does not give",
                         "\"link\" in the topology, next to \"links\": its bandwidth is that of a port");
  if (network.node && network.topology && !network.beta && !network.measured && network.table.empty() &&
      network.tables.empty())
    json.at("node").fail("needs the time per byte between nodes",
                         "\"bandwidth\" or \"beta\" of one port, next to \"node\"");
}

void require_one_cost(const Json& json) {
  const bool links = json.find("alpha") || json.find("beta") || json.find("bandwidth") || json.find("gamma");
  const int ways =
      links + json.find("measured").has_value() + json.find("table").has_value() + json.find("tables").has_value();
  if (ways > 1)
    json.fail("gives the cost of communication twice",
              "either alpha, beta and gamma, or measured, or a table, or tables");
  if (json.find("beta") && json.find("bandwidth")) json.at("bandwidth").fail("repeats beta", "one of the two");
  const bool topology = json.find("topology").has_value();
  if (ways == 0 && !topology)
    json.fail("gives no cost of communication",
              "alpha and beta, or alpha and a topology, or measured, or table; see docs/formats.md");
  if (links || ways == 0) {
    json.at("alpha");
    if (!topology) require_rate(json);
  }
}

// Reads one collective for all operations, or one for each.
void read_collective_name(const Json& json, Network& network) {
  if (!json.is_object()) {
    network.collective = json.text();
    return;
  }
  std::vector<std::string_view> known;
  for (const OperationRow& row : operations_with(&OperationRow::usual)) known.push_back(row.name);
  json.allow_only(known);
  for (const auto& [operation, name] : json.members()) {
    network.by_operation.emplace_back(operation, name.text());
    if (operation == "all-reduce") network.collective = name.text();
  }
  if (network.by_operation.empty()) json.fail("names no collective", R"(such as {"all-reduce": "ring"}, or one name)");
}

Network read_network(const Json& json) {
  std::vector<std::string_view> keys{"alpha",    "beta",      "bandwidth",  "gamma",  "measured", "table",
                                     "topology", "line_rate", "collective", "tables", "node",     "rails",
                                     "nccl",     "fidelity",  "server",     "p2p"};
  keys.insert(keys.end(), std::begin(network_options), std::end(network_options));
  json.allow_only(keys);
  require_one_cost(json);
  Network network;
  network.place = json.place();
  read_links(json, network);
  if (const auto measured = json.find("measured")) network.measured = read_measured(*measured);
  if (const auto table = json.find("table")) network.table = read_table(*table);
  if (const auto tables = json.find("tables")) network.tables = read_tables(*tables);
  if (const auto topology = json.find("topology")) network.topology = read_topology(*topology);
  if (json.find("node"))
    network.node =
        read_node(json, !network.measured && network.table.empty() && network.tables.empty(), network.topology);
  else if (const auto rails = json.find("rails"))
    rails->fail("is the number of network ports of a node, but there is no \"node\"", "add \"node\", or leave it out");
  if (json.find("nccl")) network.nccl = read_nccl(json);
  if (const auto server = json.find("server")) network.server = read_server(*server);
  if (const auto p2p = json.find("p2p")) network.p2p = read_message_cost(*p2p);
  if (const auto rate = json.find("line_rate")) network.line_rate = positive(*rate, rate->rate());
  network.names_collective = json.find("collective") || !network.table.empty() || !network.tables.empty();
  if (const auto name = json.find("collective")) read_collective_name(*name, network);
  if (const auto name = json.find("fidelity")) network.fidelity = name->text();
  for (const std::string_view key : network_options)
    if (const auto value = json.find(key))
      network.options.emplace_back(key, value->is_string() ? value->text() : value->dump());
  require_consistent(json, network);
  require_placed_in_nodes(network);
  return network;
}

// Converts the time per byte of a level to a link of the topology that is equivalent to "node".
LinkSpec implied_link(double beta, const SourceLocation& place) {
  if (beta <= 0)
    throw InputError(place, "gives links no time per byte", "a bandwidth of both levels, or the fidelity alpha-beta");
  return {0, 1 / beta};
}

// Reads a factor, or the number of a GPU's SMs that communication occupies: then the others do all the work.
Interference read_interference(const Json& json) {
  json.allow_only({"compute", "at", "nodes", "sms", "of"});
  Interference interference;
  if (json.find("compute").has_value() == json.find("sms").has_value())
    json.fail("does not give a slow-down", "{\"compute\": 1.1}, or {\"sms\": 24, \"of\": 132}");
  if (const auto compute = json.find("compute")) {
    if (const auto of = json.find("of"))
      of->fail("is the number of SMs of the GPU, but \"sms\" is missing", "leave it out");
    interference.compute = compute->number();
    if (!(interference.compute >= 1 && interference.compute <= 1000))
      compute->fail(fmt::format("{} is not a valid slow-down", compute->dump()), "1 to 1000: times as long");
  } else {
    const std::int64_t of = json.at("of").integer(2, 1'000'000), sms = json.at("sms").integer(0, of - 1);
    interference.compute = static_cast<double>(of) / static_cast<double>(of - sms);
  }
  if (const auto at = json.find("at")) interference.at = positive(*at, at->rate());
  if (const auto nodes = json.find("nodes")) interference.nodes = nodes->integer(1, most_workers);
  return interference;
}

}  // namespace

std::optional<TopologySpec> topology_of(const Network& network) {
  if (network.topology) return network.topology;
  const auto& node = network.node;
  if (!node || !network.beta || !node->beta) return std::nullopt;
  TopologySpec rail;
  rail.kind = TopologyKind::Rail;
  rail.link = implied_link(*network.beta, network.place / "beta");
  rail.gpus_per_host = node->workers;
  if (node->workers > 1) rail.inner = implied_link(*node->beta, node->place / "beta");
  rail.rails = node->rails;
  rail.place = node->place;
  return rail;
}

void require_placed_in_nodes(const Network& network) {
  if (!network.node || !network.topology || network.topology->placement.packed()) return;
  const TopologySpec& spec = *network.topology;
  const SourceLocation& place = spec.placement.place;
  if (spec.gpus_per_host != network.node->workers)
    throw InputError(place,
                     fmt::format("places hosts of {}, but the {} workers of a node must stay together",
                                 spec.gpus_per_host == 1 ? "one GPU" : fmt::format("{} GPUs", spec.gpus_per_host),
                                 network.node->workers),
                     fmt::format("\"gpus_per_host\": {} in the topology, or packed", network.node->workers));
  if (!fills_hosts(spec))
    throw InputError(place, "distributes ranks over hosts, but the workers of a node must stay together",
                     "packed, or a list of hosts");
}

Cluster read_cluster(const Json& json, bool counts) {
  Cluster cluster;
  cluster.name = json.at("name").text();
  if (counts || json.find("workers")) cluster.workers = json.at("workers").integer(1, most_workers);
  cluster.network = read_network(json.at("network"));
  if (const auto interference = json.find("interference")) cluster.interference = read_interference(*interference);
  if (const auto parallel = json.find("parallel")) cluster.parallel = read_parallel(*parallel);
  cluster.place = json.place();
  return cluster;
}

}  // namespace allreplay
