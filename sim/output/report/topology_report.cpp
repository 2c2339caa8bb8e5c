#include "sim/output/report/topology_report.hpp"

#include <set>

#include <fmt/format.h>

#include "sim/inputs/cluster/describe.hpp"
#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/inputs/cluster/topology_spec.hpp"

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

namespace {

constexpr std::size_t most_hot = 10;

}  // namespace

JsonValue links_json(const LinkUsage& usage) {
  JsonValue json{
      {"seconds", usage.seconds}, {"routing", to_string(usage.topology->routing())}, {"kinds", JsonValue::array()}};
  const std::vector<KindUse> uses = use_by_kind(usage);
  for (std::size_t i = 0; i < uses.size(); ++i)
    json["kinds"].push_back(JsonValue{{"links", usage.kinds[i]},
                                      {"number", uses[i].links},
                                      {"least_bytes_per_s", uses[i].down > 0 ? 0 : uses[i].slowest},
                                      {"most_bytes_per_s", uses[i].fastest},
                                      {"mean_use", uses[i].mean},
                                      {"busiest_use", uses[i].busiest},
                                      {"busiest_bytes", uses[i].bytes}});
  json["hottest"] = array_of(hottest(usage, most_hot), [&](const HotLink& hot) {
    return JsonValue{{"link", usage.name(hot.link)},
                     {"use", usage.utilisation(hot.link)},
                     {"bytes", usage.bytes(hot.link)},
                     {"users", array_of(hot.users, [](const LinkUser& user) {
                        return JsonValue{{"from", user.from}, {"to", user.to}, {"bytes", user.bytes}};
                      })}};
  });
  return json;
}

JsonValue links_document(const LinkUsage& usage) {
  JsonValue document = links_json(usage);
  const Topology& topology = *usage.topology;
  const bool has_several_routes = topology.way_count(0, static_cast<NodeId>(topology.hosts() - 1)) > 1;
  if (has_several_routes) document["routing_in_words"] = described(topology.routing());
  const std::vector<KindUse> uses = use_by_kind(usage);
  for (std::size_t i = 0; i < uses.size(); ++i) document["kinds"][i]["down"] = uses[i].down;
  return document;
}

const View& links_view() {
  static const View view{{
      ViewText{"routing: {routing_in_words}"},
      ViewTable{"kinds",
                {{"links", "{links}"},
                 {"number", "{number}"},
                 {"down", "{down:nonzero}"},
                 {"bandwidth", "{most_bytes_per_s}"},
                 {"mean use", "{mean_use:percent}"},
                 {"busiest", "{busiest_use:percent}"},
                 {"it carries", "{busiest_bytes}"}}},
      ViewTable{"hottest",
                {{"hottest", "{link}"},
                 {"use", "{use:percent}"},
                 {"it carries", "{bytes}"},
                 {"for",
                  "worker {users/0/from} to {users/0/to}[, {users/1/from} to {users/1/to}][, {users/2/from} to "
                  "{users/2/to}]"}}},
  }};
  return view;
}

}  // namespace allreplay
