#include "sim/report/topology_report.hpp"

#include <set>

#include <fmt/format.h>

#include "sim/cluster/describe.hpp"
#include "sim/cluster/make_topology.hpp"
#include "sim/core/json_value.hpp"
#include "sim/report/table.hpp"

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

std::string bisection_text(const TopologyFacts& known) {
  if (known.bisection) return (known.bisection->exact ? "" : "at most ") + format_rate(known.bisection->bandwidth);
  return known.hosts < 2 ? "none: one host" : "not computed: too many links";
}

// "64, on 8 of 64 hosts", where they leave some empty.
std::string seats_text(const Topology& topology, std::int64_t workers) {
  std::set<std::int64_t> filled;
  for (NodeId rank = 0; rank < workers; ++rank) filled.insert(topology.seat(rank) / topology.gpus_per_host());
  if (std::ssize(filled) == topology.machines()) return fmt::to_string(workers);
  return fmt::format("{}, on {} of {} hosts", workers, filled.size(), topology.machines());
}

}  // namespace

std::string topology_table(const Cluster& cluster, const Screen& screen) {
  const TopologySpec spec = spec_of(cluster);
  const auto topology = make_topology(spec, cluster.workers);
  const TopologyFacts known = describe(*topology, spec);
  std::vector<std::pair<std::string, TableCell>> rows{
      {"cluster", cluster.name},
      {"topology", kind_name(spec.kind)},
      {"workers", seats_text(*topology, cluster.workers)},
      {"hosts", known.gpus_per_host > 1 ? fmt::format("{} of {} GPUs", known.hosts, known.gpus_per_host)
                                        : fmt::to_string(known.hosts)},
      {"switches", fmt::to_string(known.switches)},
      {"links", known.links_down > 0 ? fmt::format("{}, and {} down", known.links, known.links_down)
                                     : fmt::to_string(known.links)},
      {"diameter", known.diameter
                       ? fmt::format("{} links, {}", known.diameter->hops, format_duration(known.diameter->latency))
                       : "not computed: too many hosts"},
      {"bisection", bisection_text(known)}};
  if (const Placement& placement = spec.placement; !placement.packed())
    rows.emplace_back("placement", to_string(placement));
  if (has_ways(spec.kind)) rows.emplace_back("routing", described(spec.routing));
  if (spec.nics)
    rows.emplace_back("nics", fmt::format("{} per host, on {}", *spec.nics,
                                          spec.planes > 1 ? fmt::format("{} planes", spec.planes) : "one network"));
  return facts(rows, screen);
}

JsonValue topology_json(const Cluster& cluster) {
  const TopologyFacts facts = facts_of(cluster);
  JsonValue json{{"cluster", cluster.name},
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
                 {"bisection_exact", nullptr},
                 {"placement", to_string(spec_of(cluster).placement)},
                 {"routing", to_string(spec_of(cluster).routing)},
                 {"nics", spec_of(cluster).ports_of_host()},
                 {"planes", spec_of(cluster).planes}};
  if (facts.diameter) {
    json["diameter_hops"] = facts.diameter->hops;
    json["diameter_s"] = facts.diameter->latency;
  }
  if (facts.bisection) {
    json["bisection_GBps"] = facts.bisection->bandwidth / 1e9;
    json["bisection_exact"] = facts.bisection->exact;
  }
  return json;
}

std::string topology_dot(const Cluster& cluster) {
  return to_dot(*make_topology(spec_of(cluster), cluster.workers), cluster.name);
}

}  // namespace allreplay
