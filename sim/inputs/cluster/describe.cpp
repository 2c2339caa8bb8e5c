#include "sim/inputs/cluster/describe.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/units.hpp"

namespace allreplay {

namespace {

constexpr std::int64_t most_measured = 2048;      // hosts; in larger networks not every route is walked
constexpr std::size_t most_walked = 500'000'000;  // links of all routes: some seconds

// Returns nothing if the routes are too long to be walked, as those of a ring of 1,300 hosts.
std::optional<Diameter> measure(const Topology& topology) {
  Diameter longest;
  std::size_t walked = 0;
  std::vector<LinkId> path;
  for (NodeId from = 0; from < topology.hosts(); ++from) {
    for (NodeId to = 0; to < topology.hosts(); ++to) {
      path.clear();
      topology.route(from, to, path);
      walked += path.size();
      if (walked > most_walked) return std::nullopt;
      double latency = 0;
      for (const LinkId link : path) latency += topology.links()[link].latency;
      longest.hops = std::max(longest.hops, static_cast<std::int64_t>(path.size()));
      longest.latency = std::max(longest.latency, latency);
    }
  }
  return longest;
}

// Returns the number of links between the two machines that are farthest from each other, if there is a formula.
std::optional<std::int64_t> hops_by_rule(const Topology& topology, const TopologySpec& spec) {
  if (spec.changed_links() > 0) return std::nullopt;
  if (topology.machines() == 1) return 0;
  switch (spec.kind) {
    case TopologyKind::Star:
      return 2;
    case TopologyKind::Ring:
      return topology.machines() / 2;
    case TopologyKind::Torus: {
      std::int64_t hops = 0;
      for (const std::int64_t size : spec.dimensions) hops += size / 2;
      return hops;
    }
    case TopologyKind::FatTree:
      return 6;
    case TopologyKind::LeafSpine:
      return spec.leaves > 1 ? 4 : 2;
    case TopologyKind::BCube:
      return 2 * spec.k;
    case TopologyKind::Rail:
      return spec.rails > 1 && !spec.pxn ? 4 : 2;
    case TopologyKind::DoubleBinaryTree:
    case TopologyKind::Graph:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Diameter> diameter(const Topology& topology, const TopologySpec& spec) {
  if (const auto hops = hops_by_rule(topology, spec)) {
    Diameter longest{*hops, static_cast<double>(*hops) * spec.link.latency};
    if (spec.gpus_per_host > 1) {
      longest.hops += 2;
      longest.latency += 2 * spec.inner.latency;
    }
    return longest;
  }
  if (topology.hosts() > most_measured) return std::nullopt;
  return measure(topology);
}

// Returns an attribute with the NIC at which a link begins, if it has one: `taillabel="nic5", `.
std::string nic_label(const Topology& topology, LinkId from, std::string_view attribute) {
  const NodeId port = topology.port(from);
  if (port == topology.links()[from].from) return "";
  const std::string name = topology.name(port);
  return fmt::format("{}=\"{}\", ", attribute, name.substr(name.rfind('.') + 1));
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out + '"';
}

// Returns the number of a rail's spines that no route uses: with PXN and without failures messages stay on their rail.
std::int64_t unused_spines(const Topology& topology, const TopologySpec& spec) {
  const auto is_down = [](const LinkChange& change) { return change.down; };
  const bool used = !spec.pxn || std::any_of(spec.changes.begin(), spec.changes.end(), is_down);
  return spec.kind != TopologyKind::Rail || used ? 0 : topology.switches() - spec.rails;
}

}  // namespace

TopologyFacts describe(const Topology& topology, const TopologySpec& spec) {
  TopologyFacts facts;
  facts.hosts = topology.machines();
  facts.gpus_per_host = topology.gpus_per_host();
  const std::int64_t unused = unused_spines(topology, spec);
  facts.switches = topology.switches() - unused;
  for (const Link& link : topology.links()) ++(link.bandwidth > 0 ? facts.links : facts.links_down);
  facts.links = facts.links / 2 - unused * spec.rails;
  facts.links_down /= 2;
  facts.diameter = diameter(topology, spec);
  facts.bisection = bisection(topology, spec);
  return facts;
}

std::string to_dot(const Topology& topology, const std::string& name) {
  std::string dot = fmt::format("graph {} {{\n  node [shape=box];\n", quoted(name));
  for (NodeId node = 0; node < topology.nodes(); ++node) {
    const bool is_switch = node >= topology.hosts() && node < topology.hosts() + topology.switches();
    dot += fmt::format("  {}{};\n", quoted(topology.name(node)), is_switch ? " [shape=ellipse]" : "");
  }
  for (LinkId id = 0; id < topology.links().size(); id += 2) {
    const Link& link = topology.links()[id];
    const std::string look =
        link.bandwidth > 0 ? fmt::format("label=\"{}, {}\"", format_rate(link.bandwidth), format_duration(link.latency))
                           : "label=\"down\", style=dashed";
    dot += fmt::format("  {} -- {} [{}{}{}];\n", quoted(topology.name(link.from)), quoted(topology.name(link.to)),
                       nic_label(topology, id, "taillabel"), nic_label(topology, id + 1, "headlabel"), look);
  }
  return dot + "}\n";
}

std::string named_with_routing(const std::string& cluster, const std::string& routing) {
  return routing.empty() ? cluster : fmt::format("{} (routing {})", cluster, routing);
}

std::string named_with_routing(const Cluster& cluster) {
  const auto& topology = cluster.network.topology;
  return named_with_routing(cluster.name, topology && topology->routing.given ? in_words(topology->routing) : "");
}

}  // namespace allreplay
