#include "sim/inputs/cluster/make_topology.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "sim/inputs/cluster/shapes.hpp"
#include "sim/inputs/cluster/shortest_paths.hpp"

namespace allreplay {

namespace {

// In doubles, so that no size overflows before it is rejected.
struct Size {
  double hosts;
  double links;  // both directions
};

Size size_of(const TopologySpec& spec, double needed) {
  switch (spec.kind) {
    case TopologyKind::Star:
      return {needed, 2 * needed};
    case TopologyKind::Ring:
      return {needed, 2 * needed};
    case TopologyKind::DoubleBinaryTree:
      return {needed, 4 * needed};
    case TopologyKind::Torus: {
      double hosts = 1;
      for (const std::int64_t size : spec.dimensions) hosts *= static_cast<double>(size);
      return {hosts, 2 * hosts * static_cast<double>(spec.dimensions.size())};
    }
    case TopologyKind::FatTree: {
      const double hosts = std::pow(static_cast<double>(spec.ports), 3) / 4;
      return {hosts, 6 * hosts};
    }
    case TopologyKind::LeafSpine: {
      const auto leaves = static_cast<double>(spec.leaves), hosts = leaves * static_cast<double>(spec.hosts_per_leaf);
      return {hosts, 2 * (hosts + leaves * static_cast<double>(spec.spines))};
    }
    case TopologyKind::BCube: {
      const double hosts = std::pow(static_cast<double>(spec.n), static_cast<double>(spec.k));
      return {hosts, 2 * hosts * static_cast<double>(spec.k)};
    }
    case TopologyKind::Rail: {
      const auto rails = static_cast<double>(spec.rails);
      return {needed, 2 * needed * rails * (rails > 1 ? 2 : 1)};  // the ports, and as many links to spines
    }
    case TopologyKind::Graph:
      return {static_cast<double>(spec.hosts.size()), 2 * static_cast<double>(spec.graph_links.size())};
  }
  return {0, 0};
}

void require_fits(const TopologySpec& spec, const Size& size, std::int64_t workers) {
  if (spec.rails > most_rails)
    throw InputError(spec.place, fmt::format("{} rails", spec.rails), fmt::format("at most {}", most_rails));
  const double ranks = size.hosts * static_cast<double>(spec.gpus_per_host);
  const double links =
      size.links * static_cast<double>(spec.nics.value_or(1)) + (spec.gpus_per_host > 1 ? 2 * ranks : 0);
  if (links > static_cast<double>(most_links))
    throw InputError(
        spec.place,
        fmt::format("this {} would have {:.4g} hosts and {:.4g} links", kind_name(spec.kind), size.hosts, links / 2),
        fmt::format("at most {} links", most_links / 2));
  if (static_cast<double>(workers) > ranks) {
    const std::string room = spec.gpus_per_host > 1 ? fmt::format("{} hosts of {} GPUs", size.hosts, spec.gpus_per_host)
                                                    : fmt::format("{} hosts", size.hosts);
    throw InputError(spec.place_of_workers.file.empty() ? spec.place : spec.place_of_workers,
                     fmt::format("{} workers do not fit on the {} of this {}", workers, room, kind_name(spec.kind)),
                     fmt::format("at most {} workers, or a larger topology", ranks));
  }
}

void require_connected(const Topology& graph, const TopologySpec& spec) {
  const std::vector<int> parts = connected_parts(graph.nodes(), graph.links());
  for (NodeId host = 1; host < graph.hosts(); ++host)
    if (parts[host] != parts[0])
      throw InputError(spec.place / "links",
                       fmt::format("there is no route from '{}' to '{}'", graph.name(0), graph.name(host)),
                       "connect all hosts, directly or through switches");
}

std::unique_ptr<Topology> make_shape(const TopologySpec& spec, std::int64_t hosts) {
  switch (spec.kind) {
    case TopologyKind::Star:
      return make_star(hosts, spec.link);
    case TopologyKind::Ring:
      return make_torus(std::span(&hosts, 1), spec.link);
    case TopologyKind::Torus:
      return make_torus(spec.dimensions, spec.link);
    case TopologyKind::DoubleBinaryTree:
      return make_double_binary_tree(hosts, spec.link);
    case TopologyKind::FatTree:
      return make_fat_tree(spec.ports, spec.oversubscription, spec.link);
    case TopologyKind::LeafSpine:
      return make_leaf_spine(spec);
    case TopologyKind::BCube:
      return make_bcube(spec.n, spec.k, spec.link);
    case TopologyKind::Rail:
      return make_rail(spec, hosts);
    case TopologyKind::Graph:
      break;
  }
  auto graph = make_graph(spec);
  require_connected(*graph, spec);
  return graph;
}

}  // namespace

std::unique_ptr<Topology> make_topology(const TopologySpec& spec, std::int64_t workers) {
  const std::int64_t hosts = (workers + spec.gpus_per_host - 1) / spec.gpus_per_host;  // if the kind has no fixed size
  require_fits(spec, size_of(spec, static_cast<double>(hosts)), workers);
  auto topology = make_shape(spec, hosts);
  const bool lacks_gpus = spec.kind != TopologyKind::Rail;  // a rail's routes depend on its GPUs
  if (spec.gpus_per_host > 1 && lacks_gpus) topology = with_gpus(std::move(topology), spec);
  if (!spec.changes.empty()) topology = with_changes(std::move(topology), spec.changes);
  topology->set_routing(spec.routing);  // errors about failed links need it
  if (!spec.placement.packed()) topology = with_placement(std::move(topology), spec, workers);
  topology->set_routing(spec.routing);
  return topology;
}

namespace {

// The bound over the routes to every `step`th rank from its predecessor; bandwidths without `ends` links at either end.
RouteBound route_bound(const Topology& topology, std::int64_t workers, std::int64_t step, std::size_t ends) {
  RouteBound bound{0, std::numeric_limits<double>::infinity()};
  std::vector<LinkId> path;
  for (std::int64_t next = 0; next < workers; next += step) {
    path.clear();
    topology.route(static_cast<NodeId>((next + workers - 1) % workers), static_cast<NodeId>(next), path);
    double latency = 0;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const Link& link = topology.links()[path[i]];
      latency += link.latency;
      if (i >= ends && i + ends < path.size()) bound.bandwidth = std::min(bound.bandwidth, link.bandwidth);
    }
    bound.latency = std::max(bound.latency, latency);
  }
  return bound;
}

}  // namespace

RouteBound consecutive_route_bound(const Topology& topology, std::int64_t workers) {
  return route_bound(topology, workers, 1, 0);
}

RouteBound machine_route_bound(const Topology& topology, std::int64_t workers) {
  const std::int64_t gpus = topology.gpus_per_host();
  return route_bound(topology, workers, gpus, gpus > 1 ? 1 : 0);
}

}  // namespace allreplay
