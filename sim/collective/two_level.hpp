// The closed forms of collectives on two levels: nodes of workers with ports between them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/collective/algorithm.hpp"
#include "sim/collective/group.hpp"
#include "sim/core/error.hpp"

namespace allreplay {

/// How the workers of a collective lie in nodes, filled in order.
struct NodeLayout {
  std::int64_t workers = 1;   ///< N
  std::int64_t nodes = 1;     ///< n
  std::int64_t per_node = 1;  ///< g, at most, in one node
  std::int64_t last = 1;      ///< q, in the last node
  std::int64_t beside = 1;    ///< c: such collectives that share each node at the same time (shard groups)

  bool full() const { return last == per_node; }
};

/// All of `workers` in nodes of `node_workers`. N <= g is one node of N.
NodeLayout layout_of(std::int64_t workers, std::int64_t node_workers);

/// The groups of `hierarchical` among so many ranks, `stride` apart, where `together` consecutive ones lie side by
/// side: one that holds all, unless they fill several.
std::int64_t hierarchy_groups(std::int64_t ranks, std::int64_t stride, std::int64_t together);

/// So many ranks of a group lie in a node.
struct NodeShare {
  std::int64_t node = 0, ranks = 0;
};

/// Of all the groups of `ranks` workers, `stride` apart, that divide `workers`, counted by their first: the nodes in
/// which one has ranks, in order.
std::vector<std::vector<NodeShare>> groups_by_node(std::int64_t workers, std::int64_t ranks, std::int64_t stride,
                                                   std::int64_t node_workers);

/// A group of `ranks` workers, `stride` apart, of all the groups that divide `workers` so: what the one that spans the
/// most nodes sees. Throws InputError at `place` where several nodes are filled and the last is not.
NodeLayout layout_on(std::int64_t workers, std::int64_t ranks, std::int64_t stride, std::int64_t node_workers,
                     const SourceLocation& place);

/// A group of a family: its `ranks` in nodes, or, where the family has several, the same.
NodeLayout layout_of(const Group& whole, std::int64_t node_workers, const SourceLocation& place);

/// Of messages: seconds, and seconds per byte. Outside: of one of a node's `rails` ports.
struct TwoLevels {
  double alpha_in = 0, beta_in = 0, alpha_out = 0, beta_out = 0;
  std::int64_t rails = 1;
};

/// a (s) and the part of b that is no reduction (s/B); and γ's coefficient, where nodes have another.
struct TransferCost {
  double a = 0, b = 0;
  std::optional<double> gamma = std::nullopt;
};

/// What closed forms on two levels are made of: the symbols of the table in docs/models.md.
struct NodeSymbols {
  double N, n, g, q;          // workers, nodes, in a full node, in the last
  double a_i, b_i, a_o, b_o;  // α and β, inside and outside
  double h;                   // GPUs to a port of a full node
  double h_last;              // the same of the last node
  double c, r;                // collectives side by side, ports
  double ring_share;          // of a port's β_o that the rings of a node pay: c/r where all nodes are full
  double flows;               // messages of collectives side by side to a port: ⌈c/r⌉
  double log_g, log_n;
  double chunks;

  double b_x() const { return std::max(b_i, h * b_o); }
};

/// With n = 1 the closed form of one level with what holds inside, with g = 1 that with what holds outside, where c
/// collectives share a node's ports. A first half (reduce-scatter, broadcast) is half of its whole. Throws InputError
/// at `place` for bml, pat and files, for named servers, for the tree's bandwidth as printed, for a last node that
/// hierarchical, halving-doubling and in-network find part empty, and for in-network inside one node.
TransferCost two_level_transfer(const Algorithm& algorithm, const NodeLayout& layout, const TwoLevels& levels,
                                const CollectiveOptions& options, const SourceLocation& place);

}  // namespace allreplay
