#include "sim/output/report/topology_report.hpp"

#include <set>

#include <fmt/format.h>

#include "sim/inputs/cluster/describe.hpp"
#include "sim/inputs/cluster/make_topology.hpp"

namespace allreplay {

namespace {

TopologySpec spec_of(const Cluster& cluster) {
  auto spec = topology_of(cluster.network);
  if (!spec)
    throw InputError(cluster.network.place, fmt::format("the cluster '{}' has no topology", cluster.name),
                     "add \"topology\"; see docs/topologies.md");
  return *spec;
}

std::int64_t hosts_in_use(const Topology& topology, std::int64_t workers) {
  std::set<std::int64_t> hosts;
  for (NodeId rank = 0; rank < workers; ++rank) hosts.insert(topology.seat(rank) / topology.gpus_per_host());
  return std::ssize(hosts);
}

}  // namespace

JsonValue topology_json(const Cluster& cluster) {
  const TopologySpec spec = spec_of(cluster);
  const auto topology = make_topology(spec, cluster.workers);
  const TopologyFacts facts = describe(*topology, spec);
  JsonValue json{{"cluster", cluster.name},
                 {"kind", kind_name(spec.kind)},
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
                 {"placement", to_string(spec.placement)},
                 {"routing", to_string(spec.routing)},
                 {"nics", spec.ports_of_host()},
                 {"planes", spec.planes},
                 {"hosts_in_use", hosts_in_use(*topology, cluster.workers)},
                 {"too_large_for", JsonValue::array()}};
  if (has_ways(spec.kind)) json["routing_in_words"] = described(spec.routing);
  if (facts.diameter) {
    json["diameter_hops"] = facts.diameter->hops;
    json["diameter_s"] = facts.diameter->latency;
  } else {
    json["too_large_for"].push_back("diameter");
  }
  if (facts.bisection) {
    json["bisection_GBps"] = facts.bisection->bandwidth / 1e9;
    json["bisection_exact"] = facts.bisection->exact;
  } else if (facts.hosts > 1) {
    json["too_large_for"].push_back("bisection");
  }
  return json;
}

std::string topology_dot(const Cluster& cluster) {
  return to_dot(*make_topology(spec_of(cluster), cluster.workers), cluster.name);
}

const View& topology_view() {
  static const View view{{
      ViewFacts{{
          {"cluster", "{cluster}"},
          {"topology", "{kind}"},
          {"workers", "{workers}, on {hosts_in_use} of {hosts} hosts"},
          {"GPUs of a host", "{gpus_per_host}"},
          {"NICs of a host", "{nics}, planes: {planes}"},
          {"switches", "{switches}"},
          {"links", "{links}[, and {links_down:nonzero} down]"},
          {"diameter", "{diameter_hops} links, {diameter_s}"},
          {"bisection", "{bisection_GBps}"},
          {"placement", "{placement}"},
          {"routing", "{routing_in_words}"},
          {"too large for", "{too_large_for:nonzero}"},
      }},
      ViewText{"note: the bisection is an upper bound", "bisection_GBps !bisection_exact"},
  }};
  return view;
}

}  // namespace allreplay
