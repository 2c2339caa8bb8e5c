#include "sim/inputs/cluster/bisection.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>

namespace allreplay {

// Capacities are integers (bytes per second, or a larger unit), so that the flow is exact and the algorithm terminates.
struct Cut::Graph {
  using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  using Edge = Traits::edge_descriptor;
  using Properties = boost::property<
      boost::edge_capacity_t, std::int64_t,
      boost::property<boost::edge_residual_capacity_t, std::int64_t, boost::property<boost::edge_reverse_t, Edge>>>;
  using Type = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Properties>;

  explicit Graph(std::size_t vertices) : graph(vertices) {}

  Edge add(std::size_t from, std::size_t to, std::int64_t there, std::int64_t back) {
    const Edge edge = boost::add_edge(from, to, graph).first, reverse = boost::add_edge(to, from, graph).first;
    boost::put(boost::edge_capacity, graph, edge, there);
    boost::put(boost::edge_capacity, graph, reverse, back);
    boost::put(boost::edge_reverse, graph, edge, reverse);
    boost::put(boost::edge_reverse, graph, reverse, edge);
    return edge;
  }

  Type graph;
  double unit = 1;  // bytes per second of one unit of flow
  std::size_t source = 0, sink = 0;
  std::vector<Edge> sources, sinks;  // by machine
};

Cut::Cut(const Topology& topology) : graph_(std::make_unique<Graph>(static_cast<std::size_t>(topology.nodes()) + 2)) {
  const auto links = topology.links();
  double all = 0;
  for (const auto& link : links) all += link.bandwidth;
  constexpr double countable = 1e18;  // an eighth of the range: no sum of flows overflows
  if (all > countable) graph_->unit = std::exp2(std::ceil(std::log2(all / countable)));
  const auto units = [&](double bandwidth) { return std::llround(bandwidth / graph_->unit); };
  for (std::size_t id = 0; id < links.size(); id += 2)
    graph_->add(links[id].from, links[id].to, units(links[id].bandwidth), units(links[id + 1].bandwidth));
  graph_->source = static_cast<std::size_t>(topology.nodes());
  graph_->sink = graph_->source + 1;
  for (std::int64_t machine = 0; machine < topology.machines(); ++machine) {
    graph_->sources.push_back(graph_->add(graph_->source, topology.machine_node(machine), 0, 0));
    graph_->sinks.push_back(graph_->add(topology.machine_node(machine), graph_->sink, 0, 0));
  }
}

Cut::~Cut() = default;

double Cut::operator()(const std::vector<bool>& in_set) {
  constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max() / 4;
  // A capacity above that of a machine's links would only cost time.
  for (std::size_t machine = 0; machine < in_set.size(); ++machine) {
    const std::size_t node = boost::target(graph_->sources[machine], graph_->graph);
    std::int64_t most = 0;
    for (const auto& edge : boost::make_iterator_range(boost::out_edges(node, graph_->graph)))
      if (const std::size_t to = boost::target(edge, graph_->graph); to != graph_->source && to != graph_->sink)
        most = std::min(unlimited, most + boost::get(boost::edge_capacity, graph_->graph, edge));
    boost::put(boost::edge_capacity, graph_->graph, graph_->sources[machine], in_set[machine] ? most : 0);
    boost::put(boost::edge_capacity, graph_->graph, graph_->sinks[machine], in_set[machine] ? 0 : most);
  }
  auto& graph = graph_->graph;
  return graph_->unit * static_cast<double>(boost::boykov_kolmogorov_max_flow(
                            graph, boost::get(boost::edge_capacity, graph),
                            boost::get(boost::edge_residual_capacity, graph), boost::get(boost::edge_reverse, graph),
                            boost::get(boost::vertex_index, graph), graph_->source, graph_->sink));
}

namespace {

constexpr std::int64_t most_tried = 16;              // machines; all their 6435 divisions are tried
constexpr std::size_t most_links_of_flow = 1 << 17;  // with more, a maximum flow takes too long

// The formulas are for equal links; halves of an odd number differ by one.

// The number of links cut in a torus (or ring). Even sizes: straight through the largest dimension (Dally 1990). Odd
// ones: the cut has a step, and cuts some links of each further dimension up to the first even one (Aroca and Fernández
// Anta, IEEE TPDS 2014: 2·Ψ). A dimension of two has one link here, not two, so all orders of the dimensions are tried.
std::int64_t torus_cut(std::vector<std::int64_t> sizes) {
  std::sort(sizes.begin(), sizes.end());
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  do {
    std::int64_t cut = 0, inside = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
    for (const std::int64_t size : sizes) {
      inside /= size;
      cut += (size == 1 ? 0 : size == 2 ? 1 : 2) * inside;
      if (size % 2 == 0) break;
    }
    least = std::min(least, cut);
  } while (std::next_permutation(sizes.begin(), sizes.end()));
  return least;
}

// The number of links cut in BCube if the first `count` servers of `order` are separated from the rest: each switch is
// on the side of most of its servers.
std::int64_t bcube_cut(std::int64_t n, std::int64_t k, const std::vector<std::uint32_t>& order, std::size_t count) {
  std::int64_t cut = 0;
  std::vector<bool> in_set(order.size());
  for (std::size_t i = 0; i < count; ++i) in_set[order[i]] = true;
  std::int64_t unit = 1;
  for (std::int64_t level = 0; level < k; ++level, unit *= n) {
    std::vector<std::int64_t> inside(order.size() / static_cast<std::size_t>(n));
    for (std::int64_t server = 0; server < static_cast<std::int64_t>(order.size()); ++server)
      inside[server / (unit * n) * unit + server % unit] += in_set[server];
    for (const std::int64_t servers : inside) cut += std::min(servers, n - servers);
  }
  return cut;
}

// An upper bound, since no formula is known: the best of a straight cut, through half of the links of one level, and of
// corners, one server larger or smaller if their number is odd. For n > 2 corners can be better, since a switch with
// few servers on one side is cheap to cut: in BCube(6,2) a block of 4 by 4 and two more takes 16 links, not 18.
std::int64_t bcube_bound(std::int64_t n, std::int64_t k, std::int64_t servers) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(servers));
  std::iota(order.begin(), order.end(), 0u);
  const std::size_t smaller = order.size() / 2, larger = order.size() - smaller;
  const std::int64_t straight = bcube_cut(n, k, order, smaller);
  std::vector<std::uint32_t> largest_digit(order.size());
  for (const std::uint32_t server : order)
    for (std::int64_t rest = server; rest > 0; rest /= n)
      largest_digit[server] = std::max(largest_digit[server], static_cast<std::uint32_t>(rest % n));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return largest_digit[a] < largest_digit[b]; });
  return std::min({straight, bcube_cut(n, k, order, smaller), bcube_cut(n, k, order, larger)});
}

std::optional<Bisection> by_rule(const Topology& topology, const TopologySpec& spec) {
  const std::int64_t machines = topology.machines();
  const auto half = static_cast<double>(machines / 2);
  switch (spec.kind) {
    case TopologyKind::Star:
      return Bisection{half * spec.link.bandwidth};  // the smaller half's own links
    case TopologyKind::Ring:
      return Bisection{static_cast<double>(torus_cut({machines})) * spec.link.bandwidth};
    case TopologyKind::Torus:
      return Bisection{static_cast<double>(torus_cut(spec.dimensions)) * spec.link.bandwidth};
    // Rearrangeably non-blocking (Al-Fares et al. 2008); if oversubscribed, half of the edges' uplinks.
    case TopologyKind::FatTree:
      return Bisection{half * spec.link.bandwidth / spec.oversubscription};
    // Half of the leaves and, if one is left over, half of its hosts: uplinks carry no more than the hosts' own links.
    case TopologyKind::LeafSpine: {
      const auto per_leaf = static_cast<double>(spec.hosts_per_leaf);
      const double odd = spec.leaves % 2 == 1 ? static_cast<double>(spec.hosts_per_leaf / 2) : 0;
      return Bisection{(static_cast<double>(spec.leaves / 2) * per_leaf / spec.oversubscription + odd) *
                       spec.link.bandwidth};
    }
    case TopologyKind::BCube:
      if (spec.k == 1 || spec.n == 2) return Bisection{half * spec.link.bandwidth};  // a star; a hypercube
      if (machines <= most_tried) return std::nullopt;
      return Bisection{static_cast<double>(bcube_bound(spec.n, spec.k, machines)) * spec.link.bandwidth, false};
    // All ports of the smaller half, over the rail switches.
    case TopologyKind::Rail:
      return Bisection{half * static_cast<double>(spec.rails) * spec.link.bandwidth};
    case TopologyKind::DoubleBinaryTree:
    case TopologyKind::Graph:
      return std::nullopt;
  }
  return std::nullopt;
}

// Tries every division once: if the number is even, as the side with machine 0, else as the smaller side.
double least_cut(const Topology& topology) {
  const int machines = static_cast<int>(topology.machines());
  Cut cut(topology);
  double least = std::numeric_limits<double>::infinity();
  std::vector<bool> in_set(static_cast<std::size_t>(machines));
  for (std::uint32_t set = 0; set < (1u << machines); ++set) {
    if (std::popcount(set) != machines / 2 || (machines % 2 == 0 && set % 2 == 0)) continue;
    for (int machine = 0; machine < machines; ++machine)
      in_set[static_cast<std::size_t>(machine)] = set >> machine & 1u;
    least = std::min(least, cut(in_set));
  }
  return least;
}

}  // namespace

std::optional<Bisection> bisection(const Topology& topology, const TopologySpec& spec) {
  const std::int64_t machines = topology.machines();
  if (machines < 2) return std::nullopt;
  if (spec.changed_links() == 0)
    if (auto ruled = by_rule(topology, spec)) {
      ruled->bandwidth *= static_cast<double>(spec.nics.value_or(1));  // parallel links, or planes
      return ruled;
    }
  if (machines <= most_tried) return Bisection{least_cut(topology)};
  if (topology.links().size() > most_links_of_flow) return std::nullopt;
  std::vector<bool> first_half(static_cast<std::size_t>(machines));
  std::fill_n(first_half.begin(), machines / 2, true);
  return Bisection{Cut(topology)(first_half), false};
}

}  // namespace allreplay
