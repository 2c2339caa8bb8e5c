#include "sim/cluster/cluster.hpp"

#include <fmt/format.h>

namespace allreplay {

namespace {

// The options that belong to a cluster as much as to a run, as given after --option.
constexpr const char* network_options[] = {"sharing", "servers", "chunks", "tree_bandwidth"};

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
  return points;
}

void require_one_cost(const Json& json) {
  const bool links = json.find("alpha") || json.find("beta") || json.find("bandwidth") || json.find("gamma");
  const int ways = links + json.find("measured").has_value() + json.find("table").has_value();
  if (ways > 1)
    json.fail("gives the cost of communication twice", "either alpha, beta and gamma, or measured, or table");
  if (json.find("beta") && json.find("bandwidth")) json.at("bandwidth").fail("repeats beta", "one of the two");
  const bool topology = json.find("topology").has_value();
  if (ways == 0 && !topology)
    json.fail("gives no cost of communication",
              "alpha and beta, or alpha and a topology, or measured, or table; see docs/formats.md");
  if (links || ways == 0) {
    json.at("alpha");
    if (!json.find("bandwidth") && !topology) json.at("beta");
  }
}

Network read_network(const Json& json) {
  json.allow_only({"alpha", "beta", "bandwidth", "gamma", "measured", "table", "topology", "line_rate", "collective",
                   "fidelity", "sharing", "servers", "chunks", "tree_bandwidth"});
  require_one_cost(json);
  Network network;
  network.place = json.place();
  if (const auto alpha = json.find("alpha")) network.alpha = alpha->duration();
  if (const auto beta = json.find("beta")) network.beta = beta->per_byte();
  if (const auto rate = json.find("bandwidth")) network.beta = 1 / positive(*rate, rate->rate());
  if (const auto gamma = json.find("gamma")) network.gamma = gamma->per_byte();
  if (const auto measured = json.find("measured")) network.measured = read_measured(*measured);
  if (const auto table = json.find("table")) network.table = read_table(*table);
  if (const auto topology = json.find("topology")) network.topology = read_topology(*topology);
  if (const auto rate = json.find("line_rate")) network.line_rate = positive(*rate, rate->rate());
  if (const auto name = json.find("collective")) network.collective = name->text();
  if (const auto name = json.find("fidelity")) network.fidelity = name->text();
  for (const char* key : network_options)
    if (const auto value = json.find(key))
      network.options.emplace_back(key, value->is_string() ? value->text() : value->dump());
  return network;
}

}  // namespace

Cluster read_cluster(const Json& json) {
  Cluster cluster;
  cluster.name = json.at("name").text();
  cluster.workers = json.at("workers").integer(1, most_workers);
  cluster.network = read_network(json.at("network"));
  cluster.place = json.place();
  return cluster;
}

}  // namespace allreplay
