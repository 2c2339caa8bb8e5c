#include "sim/studies/experiment/fabric_prices.hpp"

#include <fmt/format.h>

#include "sim/inputs/cluster/describe.hpp"
#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/plans/collective/network_change.hpp"
#include "sim/studies/experiment/request.hpp"

namespace allreplay {

double FabricPrices::of(const FabricParts& parts) const {
  const auto price = [](std::int64_t count, double each) { return static_cast<double>(count) * each; };
  return price(parts.gpus, gpu) + price(parts.hosts, host) + price(parts.switches, switches) + price(parts.ports, port);
}

FabricPrices read_prices(const Files& files, const std::string& file) {
  const Json json = Json::read(files, file);
  json.allow_only({"source", "gpu_usd", "host_usd", "switch_usd", "port_usd", "fabrics"});
  FabricPrices prices;
  prices.place = json.place();
  if (const auto source = json.find("source")) source->text();
  double sum = 0;
  for (const auto& [key, price] : {std::pair("gpu_usd", &prices.gpu),
                                   {"host_usd", &prices.host},
                                   {"switch_usd", &prices.switches},
                                   {"port_usd", &prices.port}}) {
    const auto given = json.find(key);
    if (!given) continue;
    *price = given->number();
    if (!(*price >= 0 && *price <= 1e12))
      given->fail(fmt::format("{} is not a valid price", given->dump()), "dollars, at least 0");
    sum += *price;
  }
  if (!(sum > 0)) json.fail("prices nothing", "gpu_usd, host_usd, switch_usd or port_usd above 0");
  if (const auto fabrics = json.find("fabrics")) {
    for (const Json& one : fabrics->items()) prices.fabrics.push_back(beside(files, file, one.text()));
    constexpr std::size_t most = 1000;  // each is replayed
    if (prices.fabrics.size() > most)
      fabrics->fail(fmt::format("has {} fabrics", prices.fabrics.size()), fmt::format("at most {}", most));
  }
  return prices;
}

FabricParts parts_of(const Cluster& cluster, std::int64_t workers, const FabricPrices& prices) {
  const Network& network = cluster.network;
  if (!network.topology) {
    if (prices.switches > 0)
      throw InputError(network.place,
                       fmt::format("the cluster '{}' has no topology, so its switches are unknown", cluster.name),
                       "a cluster with \"topology\", or no switch_usd");
    const std::int64_t nodes = nodes_of(network, workers);
    return {.gpus = workers, .hosts = nodes, .ports = nodes * (network.node ? network.node->rails : 1)};
  }
  const auto topology = make_topology(*network.topology, workers);
  const TopologyFacts facts = describe(*topology, *network.topology);
  const std::int64_t gpus = facts.hosts * facts.gpus_per_host;
  const std::int64_t inside = facts.gpus_per_host > 1 ? gpus : 0;  // links of GPUs to their host
  return {.gpus = gpus,
          .hosts = facts.hosts,
          .switches = facts.switches,
          .ports = 2 * (facts.links + facts.links_down - inside)};
}

}  // namespace allreplay
