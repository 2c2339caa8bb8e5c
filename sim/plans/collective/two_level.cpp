#include "sim/plans/collective/two_level.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace allreplay {

namespace {

double ceil_div(std::int64_t a, std::int64_t b) { return static_cast<double>((a + b - 1) / b); }

NodeSymbols symbols_of(const NodeLayout& layout, const TwoLevels& levels, const CollectiveOptions& options) {
  NodeSymbols s{};
  s.N = static_cast<double>(layout.workers);
  s.n = static_cast<double>(layout.nodes);
  s.g = static_cast<double>(layout.per_node);
  s.q = static_cast<double>(layout.last);
  s.a_i = levels.alpha_in;
  s.b_i = levels.beta_in;
  s.a_o = levels.alpha_out;
  s.b_o = levels.beta_out;
  s.c = static_cast<double>(layout.sharing);
  s.r = static_cast<double>(levels.rails);
  s.h = ceil_div(layout.sharing * layout.per_node, levels.rails);
  s.h_last = ceil_div(layout.sharing * layout.last, levels.rails);
  s.flows = ceil_div(layout.sharing, levels.rails);
  // r rings leave a node of q workers through min(r, q) of its ports.
  s.ring_share = s.c * (layout.full() ? 1 : ceil_div(levels.rails, std::min(levels.rails, layout.last))) / s.r;
  s.log_g = std::log2(s.g);
  s.log_n = std::log2(s.n);
  s.chunks = static_cast<double>(options.chunks);
  return s;
}

void require_form(const Algorithm& algorithm, const NodeLayout& layout, const CollectiveOptions& options,
                  const SourceLocation& place) {
  if (!algorithm.on_nodes)
    throw InputError(place,
                     fmt::format("{}{} has no closed form on nodes of several workers",
                                 algorithm.from_file ? "the file of " : "", algorithm.name),
                     "such as ring or hierarchical");
  if (algorithm.servers && options.servers > 0)
    throw InputError(place, fmt::format("servers={} does not say on which nodes they are", options.servers),
                     "servers=0: one on every worker");
  if (algorithm.servers && options.server_hosts == ServerHosts::Dedicated)
    throw InputError(place, "servers on hosts of their own need to know who sums in a node", "local=true");
  if (algorithm.option == "tree_bandwidth" && options.tree_bandwidth == TreeBandwidth::Paper)
    throw InputError(place, "tree_bandwidth=paper does not support nodes", "tree_bandwidth=physical");
  if (algorithm.full_nodes && !layout.full())
    throw InputError(place,
                     fmt::format("{} does not support {} workers in nodes of {}: the last node has {}", algorithm.name,
                                 layout.workers, layout.per_node, layout.last),
                     fmt::format("a multiple of {}, or ring", layout.per_node));
}

}  // namespace

NodeLayout layout_of(std::int64_t workers, std::int64_t node_workers) {
  const std::int64_t per_node = std::min(workers, node_workers), nodes = (workers + per_node - 1) / per_node;
  return {workers, nodes, per_node, workers - (nodes - 1) * per_node};
}

std::int64_t hierarchy_groups(std::int64_t ranks, std::int64_t stride, std::int64_t together) {
  const std::int64_t size = together / stride;
  return size > 1 && ranks % size == 0 ? ranks / size : 1;
}

std::vector<std::vector<NodeShare>> groups_by_node(std::int64_t workers, std::int64_t ranks, std::int64_t stride,
                                                   std::int64_t node_workers) {
  std::vector<std::vector<NodeShare>> groups;
  for (std::int64_t first = 0; first < workers; ++first) {
    if (first / stride % ranks != 0) continue;  // not the first worker of its group
    std::vector<NodeShare>& group = groups.emplace_back();
    for (std::int64_t i = 0; i < ranks; ++i) {
      const std::int64_t node = (first + i * stride) / node_workers;
      if (group.empty() || group.back().node != node) group.push_back({node, 0});
      ++group.back().ranks;
    }
  }
  return groups;
}

NodeLayout layout_of(const Group& whole, std::int64_t node_workers, const SourceLocation& place) {
  if (whole.ranks == 1 || whole.repeats == 1) return layout_of(whole.ranks, node_workers);
  const std::int64_t workers = whole.workers();
  if (workers > node_workers && workers % node_workers != 0)
    throw InputError(place,
                     fmt::format("{} workers do not fill nodes of {}: shard groups inside nodes cannot be priced",
                                 workers, node_workers),
                     fmt::format("a multiple of {}", node_workers));
  NodeLayout layout{whole.ranks, 1, 1, 1, 1};
  // By node: the groups that cross it share its ports.
  std::map<std::int64_t, std::int64_t> crossing;
  for (const std::vector<NodeShare>& group : groups_by_node(workers, whole.ranks, whole.stride, node_workers)) {
    layout.nodes = std::max(layout.nodes, static_cast<std::int64_t>(group.size()));
    for (const NodeShare& share : group) {
      layout.per_node = std::max(layout.per_node, share.ranks);
      if (group.size() > 1) layout.sharing = std::max(layout.sharing, ++crossing[share.node]);
    }
  }
  layout.last = layout.per_node;
  return layout;
}

TransferCost two_level_transfer(const Algorithm& algorithm, const NodeLayout& layout, const TwoLevels& levels,
                                const CollectiveOptions& options, const SourceLocation& place) {
  const NodeSymbols symbols = symbols_of(layout, levels, options);
  if (layout.nodes > 1 && layout.per_node > 1) {
    require_form(algorithm, layout, options, place);
    return algorithm.on_nodes(symbols);
  }
  if (algorithm.in_switches && layout.per_node > 1)
    throw InputError(place, fmt::format("{} sums in switches, but one node has none", algorithm.name),
                     "workers on several nodes, or ring");
  CollectiveOptions flat = options;
  flat.groups = 1;  // only one level of a hierarchy is left
  const Coefficients times = algorithm.coefficients(symbols.N, flat);
  if (layout.nodes == 1) return {times.alpha * symbols.a_i, times.beta * symbols.b_i};
  return {times.alpha * symbols.a_o, times.beta * symbols.flows * symbols.b_o};
}

}  // namespace allreplay
