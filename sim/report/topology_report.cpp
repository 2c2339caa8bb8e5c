#include "sim/report/topology_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/cluster/describe.hpp"
#include "sim/cluster/make_topology.hpp"

namespace allreplay {

namespace {

TopologySpec spec_of(const Cluster& cluster) {
  auto spec = topology_of(cluster.network);
  if (!spec)
    throw InputError(cluster.network.place, fmt::format("the cluster '{}' has no topology", cluster.name),
                     "add \"topology\"; see docs/topologies.md");
  return *spec;
}

TopologyFacts facts_of(const Cluster& cluster) {
  const TopologySpec spec = spec_of(cluster);
  return describe(*make_topology(spec, cluster.workers), spec);
}

std::string row(std::string_view name, std::string_view value) { return fmt::format("{:<10} {}\n", name, value); }

}  // namespace

std::string topology_table(const Cluster& cluster) {
  const TopologyFacts facts = facts_of(cluster);
  std::string text = row("cluster", cluster.name);
  text += row("topology", kind_name(spec_of(cluster).kind));
  text += row("workers", fmt::to_string(cluster.workers));
  text += row("hosts", facts.gpus_per_host > 1 ? fmt::format("{} of {} GPUs", facts.hosts, facts.gpus_per_host)
                                               : fmt::to_string(facts.hosts));
  text += row("switches", fmt::to_string(facts.switches));
  text += row("links", facts.links_down > 0 ? fmt::format("{}, and {} down", facts.links, facts.links_down)
                                            : fmt::to_string(facts.links));
  text += row("diameter", facts.diameter ? fmt::format("{} links, {}", facts.diameter->hops,
                                                       format_duration(facts.diameter->latency))
                                         : "not computed for so many hosts");
  if (!facts.bisection)
    text += row("bisection", facts.hosts < 2 ? "none: one host" : "not computed for so many links");
  else
    text += row("bisection", (facts.bisection->exact ? "" : "at most ") + format_rate(facts.bisection->bandwidth));
  return text;
}

std::string topology_json(const Cluster& cluster) {
  const TopologyFacts facts = facts_of(cluster);
  nlohmann::ordered_json json{{"cluster", cluster.name},
                              {"kind", kind_name(spec_of(cluster).kind)},
                              {"workers", cluster.workers},
                              {"hosts", facts.hosts},
                              {"gpus_per_host", facts.gpus_per_host},
                              {"switches", facts.switches},
                              {"links", facts.links},
                              {"links_down", facts.links_down},
                              {"diameter_hops", nullptr},
                              {"diameter_s", nullptr},
                              {"bisection_GBps", nullptr},
                              {"bisection_exact", nullptr}};
  if (facts.diameter) {
    json["diameter_hops"] = facts.diameter->hops;
    json["diameter_s"] = facts.diameter->latency;
  }
  if (facts.bisection) {
    json["bisection_GBps"] = facts.bisection->bandwidth / 1e9;
    json["bisection_exact"] = facts.bisection->exact;
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string topology_dot(const Cluster& cluster) {
  return to_dot(*make_topology(spec_of(cluster), cluster.workers), cluster.name);
}

}  // namespace allreplay
