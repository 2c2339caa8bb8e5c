#include "sim/collective/two_level.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace allreplay {

namespace {

double ceil_div(std::int64_t a, std::int64_t b) { return static_cast<double>((a + b - 1) / b); }

// The symbols of the table in docs/models.md.
struct Symbols {
  double N, n, g, q;          // workers, nodes, in a full node, in the last
  double a_i, b_i, a_o, b_o;  // α and β, inside and outside
  double h;                   // GPUs to a port of a full node
  double h_last;              // the same of the last node
  double c, r;                // collectives side by side, ports
  double ring_share;          // of a port's β_o that the rings of a node pay: c/r where all nodes are full
  double flows;               // messages of collectives side by side to a port: ⌈c/r⌉
  double log_g, log_n;

  double b_x() const { return std::max(b_i, h * b_o); }
};

Symbols symbols_of(const NodeLayout& layout, const TwoLevels& levels) {
  Symbols s{};
  s.N = static_cast<double>(layout.workers);
  s.n = static_cast<double>(layout.nodes);
  s.g = static_cast<double>(layout.per_node);
  s.q = static_cast<double>(layout.last);
  s.a_i = levels.alpha_in;
  s.b_i = levels.beta_in;
  s.a_o = levels.alpha_out;
  s.b_o = levels.beta_out;
  s.c = static_cast<double>(layout.beside);
  s.r = static_cast<double>(levels.rails);
  s.h = ceil_div(layout.beside * layout.per_node, levels.rails);
  s.h_last = ceil_div(layout.beside * layout.last, levels.rails);
  s.flows = ceil_div(layout.beside, levels.rails);
  // r rings leave a node of q workers by min(r, q) of its ports.
  s.ring_share = s.c * (layout.full() ? 1 : ceil_div(levels.rails, std::min(levels.rails, layout.last))) / s.r;
  s.log_g = std::log2(s.g);
  s.log_n = std::log2(s.n);
  return s;
}

TransferCost ring(const Symbols& s) {
  return {2 * (s.N - s.n) * s.a_i + 2 * (s.n - 1) * s.a_o, 2 * (s.N - 1) / s.N * std::max(s.b_i, s.ring_share * s.b_o)};
}

double halves(const Symbols& s) { return 2 * (s.g - 1) / s.g * s.b_i + 2 * (s.n - 1) / s.N * s.b_x(); }

TransferCost hierarchical(const Symbols& s) { return {2 * (s.g - 1) * s.a_i + 2 * (s.n - 1) * s.a_o, halves(s)}; }

TransferCost halving_doubling(const Symbols& s) { return {2 * s.log_g * s.a_i + 2 * s.log_n * s.a_o, halves(s)}; }

TransferCost recursive_doubling(const Symbols& s) {
  return {s.log_g * s.a_i + s.log_n * s.a_o, s.log_g * s.b_i + s.log_n * s.b_x()};
}

TransferCost parameter_server(const Symbols& s) {
  const double inside = (s.N - 1) / s.N * s.b_i, outside = (s.N - s.g) / s.N * s.h * s.b_o;
  const double last = (s.N - s.q) / s.N * s.h_last * s.b_o;  // `outside` where the last node is full
  return {2 * s.a_o, 2 * std::max({inside, outside, last})};
}

TransferCost all_gather(const Symbols& s) {
  return {s.log_g * s.a_i + s.log_n * s.a_o, (s.g - 1) * s.b_i + (s.N - s.g) * s.b_x()};
}

TransferCost binary_tree(const Symbols& s) {
  return {2 * s.log_g * s.a_i + 2 * s.log_n * s.a_o,
          2 * s.log_g * s.b_i + 2 * s.log_n * std::max(s.b_i, s.flows * s.b_o)};
}

TransferCost double_binary_tree(const Symbols& s) {
  return {2 * (s.g - 1) * s.a_i + 2 * s.log_n * s.a_o, 2 * std::max(s.b_i, s.c / s.r * s.b_o)};
}

TransferCost half(const TransferCost& whole) { return {whole.a / 2, whole.b / 2}; }
TransferCost reduce_scatter(const Symbols& s) { return half(ring(s)); }
TransferCost broadcast(const Symbols& s) { return half(binary_tree(s)); }

struct ClosedForm {
  std::string_view name;
  TransferCost (*transfer)(const Symbols&);
  bool partial = true;  // serves a last node that is part empty
};

constexpr ClosedForm closed_forms[] = {{"ring", ring},
                                       {"hierarchical", hierarchical, false},
                                       {"halving-doubling", halving_doubling, false},
                                       {"recursive-doubling", recursive_doubling},
                                       {"parameter-server", parameter_server},
                                       {"all-gather", all_gather},
                                       {"topk-allgather", all_gather},
                                       {"binary-tree", binary_tree},
                                       {"gtopk-tree", binary_tree},
                                       {"double-binary-tree", double_binary_tree},
                                       {"reduce-scatter", reduce_scatter},
                                       {"broadcast", broadcast}};

const ClosedForm& closed_form(const Algorithm& algorithm, const NodeLayout& layout, const CollectiveOptions& options,
                              const SourceLocation& place) {
  const auto form = std::find_if(std::begin(closed_forms), std::end(closed_forms),
                                 [&](const ClosedForm& one) { return one.name == algorithm.name; });
  if (form == std::end(closed_forms))
    throw InputError(place, fmt::format("{} has no closed form on nodes of several workers", algorithm.name),
                     "ring or hierarchical, for example");
  if (algorithm.servers && options.servers > 0)
    throw InputError(place, fmt::format("servers={} does not say in which of the nodes they are", options.servers),
                     "servers=0: one on every worker");
  if (algorithm.servers && options.server_hosts == ServerHosts::Dedicated)
    throw InputError(place, "servers on hosts of their own need to know who sums in a node", "local=true");
  if (algorithm.option == "tree_bandwidth" && options.tree_bandwidth == TreeBandwidth::Paper)
    throw InputError(place, "tree_bandwidth=paper knows no nodes", "tree_bandwidth=physical");
  if (!form->partial && !layout.full())
    throw InputError(place,
                     fmt::format("{} cannot serve {} workers in nodes of {}: the last holds {}", algorithm.name,
                                 layout.workers, layout.per_node, layout.last),
                     fmt::format("a multiple of {}, or ring", layout.per_node));
  return *form;
}

}  // namespace

NodeLayout layout_of(std::int64_t workers, std::int64_t node_workers) {
  const std::int64_t per_node = std::min(workers, node_workers), nodes = (workers + per_node - 1) / per_node;
  return {workers, nodes, per_node, workers - (nodes - 1) * per_node};
}

std::vector<std::vector<NodeShare>> groups_by_node(std::int64_t workers, std::int64_t ranks, std::int64_t stride,
                                                   std::int64_t node_workers) {
  std::vector<std::vector<NodeShare>> groups;
  for (std::int64_t first = 0; first < workers; ++first) {
    if (first / stride % ranks != 0) continue;  // not the first of its group
    std::vector<NodeShare>& group = groups.emplace_back();
    for (std::int64_t i = 0; i < ranks; ++i) {
      const std::int64_t node = (first + i * stride) / node_workers;
      if (group.empty() || group.back().node != node) group.push_back({node, 0});
      ++group.back().ranks;
    }
  }
  return groups;
}

NodeLayout layout_on(std::int64_t workers, std::int64_t ranks, std::int64_t stride, std::int64_t node_workers,
                     const SourceLocation& place) {
  if (workers > node_workers && workers % node_workers != 0)
    throw InputError(
        place,
        fmt::format("{} workers do not fill nodes of {}: shard groups in them have no price", workers, node_workers),
        fmt::format("a multiple of {}", node_workers));
  NodeLayout layout{ranks, 1, 1, 1, 1};
  // Who crosses nodes, by node: those groups share its ports.
  std::map<std::int64_t, std::int64_t> crossing;
  for (const std::vector<NodeShare>& group : groups_by_node(workers, ranks, stride, node_workers)) {
    layout.nodes = std::max(layout.nodes, static_cast<std::int64_t>(group.size()));
    for (const NodeShare& share : group) {
      layout.per_node = std::max(layout.per_node, share.ranks);
      if (group.size() > 1) layout.beside = std::max(layout.beside, ++crossing[share.node]);
    }
  }
  layout.last = layout.per_node;
  return layout;
}

TransferCost two_level_transfer(const Algorithm& algorithm, const NodeLayout& layout, const TwoLevels& levels,
                                const CollectiveOptions& options, const SourceLocation& place) {
  const Symbols symbols = symbols_of(layout, levels);
  if (layout.nodes > 1 && layout.per_node > 1) return closed_form(algorithm, layout, options, place).transfer(symbols);
  CollectiveOptions flat = options;
  flat.groups = 1;  // of a hierarchy one level is left
  const Coefficients times = algorithm.coefficients(symbols.N, flat);
  if (layout.nodes == 1) return {times.alpha * symbols.a_i, times.beta * symbols.b_i};
  return {times.alpha * symbols.a_o, times.beta * symbols.flows * symbols.b_o};
}

}  // namespace allreplay
