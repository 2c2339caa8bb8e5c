// The closed forms of collectives on two levels: nodes of workers with ports between them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/plans/collective/algorithm.hpp"
#include "sim/plans/collective/group.hpp"

namespace allreplay {

/// The distribution of a collective's workers over nodes, which are filled in order.
struct NodeLayout {
  std::int64_t workers = 1;   ///< N
  std::int64_t nodes = 1;     ///< n
  std::int64_t per_node = 1;  ///< g, the most workers in one node
  std::int64_t last = 1;      ///< q, the workers in the last node
  std::int64_t sharing = 1;   ///< c, the simultaneous collectives of this kind that share a node (shard groups)

  bool full() const { return last == per_node; }
};

/// All `workers` in nodes of `node_workers`; a single node if they fit.
NodeLayout layout_of(std::int64_t workers, std::int64_t node_workers);

/// The number of groups of `hierarchical` among `ranks` ranks with distance `stride`, if `together` consecutive workers
/// share a node: one group per node, or 1 if they do not fill nodes.
std::int64_t hierarchy_groups(std::int64_t ranks, std::int64_t stride, std::int64_t together);

/// The number of a group's ranks in a node.
struct NodeShare {
  std::int64_t node = 0, ranks = 0;
};

/// Divides `workers` into groups of `ranks` workers with distance `stride`. Returns for each group, in the order of
/// first workers, the nodes in which it has ranks, in order.
std::vector<std::vector<NodeShare>> groups_by_node(std::int64_t workers, std::int64_t ranks, std::int64_t stride,
                                                   std::int64_t node_workers);

/// The layout of a family's groups: the most nodes, ranks per node and simultaneous groups per node of any of them.
/// Throws InputError at `place` if there are several nodes and the last is not full. REQUIRES: no value of `whole` is
/// open.
NodeLayout layout_of(const Group& whole, std::int64_t node_workers, const SourceLocation& place);

/// α (s) and β (s/B) of messages inside a node and outside; β outside is that of one of a node's `rails` ports.
struct TwoLevels {
  double alpha_in = 0, beta_in = 0, alpha_out = 0, beta_out = 0;
  std::int64_t rails = 1;
};

/// a (s) and the part of b that does not belong to the reduction (s/B); γ's coefficient, if it differs from that of one
/// level.
struct TransferCost {
  double a = 0, b = 0;
  std::optional<double> gamma = std::nullopt;
};

/// The symbols of the closed forms on two levels, as in the table of docs/models.md.
struct NodeSymbols {
  double N, n, g, q;          // workers, nodes, workers in a full node, workers in the last node
  double a_i, b_i, a_o, b_o;  // α and β, inside and outside
  double h;                   // GPUs per port of a full node
  double h_last;              // GPUs per port of the last node
  double c, r;                // simultaneous collectives, ports of a node
  double ring_share;          // the factor on β_o for the rings of a node: c/r if all nodes are full
  double flows;               // messages of simultaneous collectives per port: ⌈c/r⌉
  double log_g, log_n;
  double chunks;

  double b_x() const { return std::max(b_i, h * b_o); }
};

/// The closed form on two levels. For one node (n = 1) it is that of one level with the costs inside; for one worker
/// per node (g = 1), with the costs outside, where c collectives share a node's ports. Reduce-scatter and broadcast
/// cost half of ring and binary-tree. Throws InputError at `place` for bml, pat and files, for a given number of
/// servers or dedicated servers, for tree_bandwidth=paper, for hierarchical, halving-doubling and in-network if the
/// last node is not full, and for in-network inside one node.
TransferCost two_level_transfer(const Algorithm& algorithm, const NodeLayout& layout, const TwoLevels& levels,
                                const CollectiveOptions& options, const SourceLocation& place);

}  // namespace allreplay
