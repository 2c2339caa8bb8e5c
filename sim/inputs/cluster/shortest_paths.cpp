#include "sim/inputs/cluster/shortest_paths.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/connected_components.hpp>
#include <boost/graph/dijkstra_shortest_paths_no_color_map.hpp>

#include "sim/base/core/time.hpp"

namespace allreplay {

namespace {

constexpr std::size_t most_distances = std::size_t{1} << 24;  // kept simultaneously: 256 MB

}  // namespace

// The graph for Boost. The links of a node keep their order.
struct ShortestPaths::Graph {
  struct Edge {
    Distance length;
  };
  using Type = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, Edge>;
  Type graph;
};

ShortestPaths::ShortestPaths(std::int64_t nodes, std::span<const Link> links)
    : nodes_(nodes), to_(links.size()), first_(static_cast<std::size_t>(nodes) + 1, 0) {
  std::vector<std::pair<NodeId, NodeId>> edges;
  std::vector<Graph::Edge> lengths;
  for (const Link& link : links)
    if (link.bandwidth > 0) ++first_[link.from + 1];
  for (std::size_t node = 1; node < first_.size(); ++node) first_[node] += first_[node - 1];
  out_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  edges.reserve(out_.size());
  lengths.reserve(out_.size());
  latency_.reserve(links.size());
  for (std::size_t id = 0; id < links.size(); ++id) {
    const Link& link = links[id];
    to_[id] = link.to;
    latency_.push_back(to_time(link.latency).count());
    if (link.bandwidth <= 0) continue;
    out_[next[link.from]++] = static_cast<LinkId>(id);
    edges.emplace_back(link.from, link.to);
    lengths.push_back({{latency_.back(), 1}});
  }
  graph_ = std::make_unique<Graph>(Graph{Graph::Type(boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(),
                                                     lengths.begin(), static_cast<std::size_t>(nodes))});
}

ShortestPaths::~ShortestPaths() = default;

// Links are full duplex with equal latencies, so distances from a node are distances to it.
ShortestPaths::Distances ShortestPaths::compute(NodeId to) const {
  constexpr Distance infinite{std::numeric_limits<std::int64_t>::max(), 0};
  Distances distances(static_cast<std::size_t>(nodes_), infinite);
  const auto& graph = graph_->graph;
  const auto index = boost::get(boost::vertex_index, graph);
  boost::dijkstra_shortest_paths_no_color_map(
      graph, to,
      boost::weight_map(boost::get(&Graph::Edge::length, graph))
          .distance_map(boost::make_iterator_property_map(distances.begin(), index))
          .distance_compare(std::less<Distance>())
          .distance_combine([](const Distance& a, const Distance& b) {
            return a.latency == infinite.latency ? a : Distance{a.latency + b.latency, a.links + b.links};
          })
          .distance_inf(infinite)
          .distance_zero(Distance{0, 0}));
  return distances;
}

std::shared_ptr<const ShortestPaths::Distances> ShortestPaths::distances_to(NodeId node) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = known_.find(node); found != known_.end()) return found->second;
  while (!order_.empty() && (order_.size() + 1) * static_cast<std::size_t>(nodes_) > most_distances) {
    known_.erase(order_.front());
    order_.pop_front();
  }
  auto distances = std::make_shared<const Distances>(compute(node));
  known_.emplace(node, distances);
  order_.push_back(node);
  return distances;
}

bool ShortestPaths::on_the_way(const Distances& distances, NodeId at, LinkId link) const {
  const Distance &here = distances[at], &there = distances[to_[link]];
  return there.latency + latency_[link] == here.latency && there.links + 1 == here.links;
}

// A node with one link is reached through its neighbour, whose distances serve all such nodes around it.
NodeId ShortestPaths::goal_of(NodeId to) const { return out(to).size() == 1 ? to_[out(to)[0]] : to; }

// Counts from the nearest nodes to the farthest.
std::shared_ptr<const ShortestPaths::Counts> ShortestPaths::counts_to(NodeId node) const {
  const auto distances = distances_to(node);
  const std::lock_guard lock(mutex_);
  if (const auto found = known_counts_.find(node); found != known_counts_.end()) return found->second;
  if ((known_counts_.size() + 1) * static_cast<std::size_t>(nodes_) > most_distances) known_counts_.clear();
  std::vector<NodeId> order(static_cast<std::size_t>(nodes_));
  std::iota(order.begin(), order.end(), NodeId{0});
  std::sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return (*distances)[a] < (*distances)[b]; });
  auto counts = std::make_shared<Counts>(order.size(), 0);
  constexpr std::uint64_t most = std::uint64_t{1} << 63;
  for (const NodeId at : order) {
    std::uint64_t& count = (*counts)[at];
    if (at == node) count = 1;
    for (const LinkId link : out(at))
      if (at != node && on_the_way(*distances, at, link))
        count = std::min(most, count + std::min(most, (*counts)[to_[link]]));
  }
  known_counts_.emplace(node, counts);
  return counts;
}

std::uint64_t ShortestPaths::way_count(NodeId from, NodeId to) const {
  return from == to ? 1 : (*counts_to(goal_of(to)))[from];
}

void ShortestPaths::way(NodeId from, NodeId to, std::uint64_t number, std::vector<LinkId>& path) const {
  if (from == to) return;
  const NodeId goal = goal_of(to);
  const auto distances = distances_to(goal);
  const auto counts = counts_to(goal);
  for (NodeId at = from; at != goal; at = to_[path.back()])
    for (const LinkId link : out(at)) {
      if (!on_the_way(*distances, at, link)) continue;
      if (number < (*counts)[to_[link]]) {
        path.push_back(link);
        break;
      }
      number -= (*counts)[to_[link]];
    }
  if (goal != to) path.push_back(out(to)[0] ^ 1u);
}

// Returns the next link from `at` on the route to `to`.
LinkId ShortestPaths::way(const Distances& distances, NodeId at, NodeId to) const {
  std::uint32_t ways = 0;
  LinkId chosen = 0;
  for (const LinkId link : out(at)) ways += on_the_way(distances, at, link);
  if (ways == 0) return chosen;
  std::uint32_t skip = to % ways;
  for (const LinkId link : out(at)) {
    if (!on_the_way(distances, at, link) || skip-- > 0) continue;
    chosen = link;
    break;
  }
  return chosen;
}

void ShortestPaths::route(NodeId from, NodeId to, std::vector<LinkId>& path) const {
  if (from == to) return;
  const NodeId goal = goal_of(to);
  const auto distances = distances_to(goal);
  for (NodeId at = from; at != goal; at = to_[path.back()]) path.push_back(way(*distances, at, to));
  if (goal != to) path.push_back(out(to)[0] ^ 1u);
}

std::vector<LinkId> ShortestPaths::ways_to(NodeId to) const {
  const NodeId goal = goal_of(to);
  const auto distances = distances_to(goal);
  std::vector<LinkId> ways(static_cast<std::size_t>(nodes_));
  for (NodeId at = 0; at < ways.size(); ++at) ways[at] = way(*distances, at, to);
  if (goal != to) ways[goal] = out(to)[0] ^ 1u;
  return ways;
}

std::vector<int> connected_parts(std::int64_t nodes, std::span<const Link> links) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> graph(static_cast<std::size_t>(nodes));
  for (std::size_t id = 0; id < links.size(); id += 2)  // one direction of each
    if (links[id].bandwidth > 0) boost::add_edge(links[id].from, links[id].to, graph);
  std::vector<int> parts(static_cast<std::size_t>(nodes));
  boost::connected_components(graph,
                              boost::make_iterator_property_map(parts.begin(), boost::get(boost::vertex_index, graph)));
  return parts;
}

}  // namespace allreplay
