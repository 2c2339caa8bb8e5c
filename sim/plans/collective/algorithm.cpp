#include "sim/plans/collective/algorithm.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/plans/collective/two_level.hpp"

namespace allreplay {

namespace {

// MG-WFBP (Shi, Chu, Li), Table 2; its double-binary-tree row lacks the α.

Coefficients binary_tree(double n, const CollectiveOptions&) {
  return {2 * std::log2(n), 2 * std::log2(n), std::log2(n)};
}

Coefficients recursive_doubling(double n, const CollectiveOptions&) {
  return {std::log2(n), std::log2(n), std::log2(n)};
}

// 2β − (2β + γ)/N + γ
Coefficients halving_doubling(double n, const CollectiveOptions&) { return {2 * std::log2(n), 2 - 2 / n, 1 - 1 / n}; }

Coefficients double_binary_tree(double n, const CollectiveOptions& options) {
  return {2 * std::log2(n), options.tree_bandwidth == TreeBandwidth::Paper ? 1.0 : 2.0, 1};
}

Coefficients ring(double n, const CollectiveOptions&) { return {2 * (n - 1), 2 * (n - 1) / n, (n - 1) / n}; }

// Push and pull: each of S servers exchanges M/S bytes with the N − 1 other workers; S = N is a server on every worker.
// A dedicated server exchanges with all N workers, whose own ports may be the bottleneck.
Coefficients parameter_server(double n, const CollectiveOptions& options) {
  const double servers = options.servers > 0 ? static_cast<double>(options.servers) : n;
  if (options.server_hosts == ServerHosts::Dedicated) return {2, 2 * std::max(1.0, n / servers), (n - 1) / servers};
  return {2, 2 * (n - 1) / servers, (n - 1) / servers};
}

// The bytes of ring, for any number of groups; in each half g − 1 rounds inside the groups and G − 1 across.
Coefficients hierarchical(double n, const CollectiveOptions& options) {
  const auto groups = static_cast<double>(options.groups);
  return {2 * (n / groups - 1) + 2 * (groups - 1), 2 * (n - 1) / n, (n - 1) / n};
}

// BML (Wang et al.), section 3.2: all k ports of a server carry an equal share.
Coefficients bml(double n, const CollectiveOptions& options) {
  const auto levels = static_cast<double>(options.levels);
  return {2 * levels, 2 * (n - 1) / (levels * n), (n - 1) / n};
}

Coefficients reduce_scatter(double n, const CollectiveOptions&) { return {n - 1, (n - 1) / n, (n - 1) / n}; }

Coefficients broadcast(double n, const CollectiveOptions&) { return {std::log2(n), std::log2(n), 0}; }

// gTop-k (Shi et al.), Table I; the block is one worker's 2k values and indices.
Coefficients all_gather(double n, const CollectiveOptions&) { return {std::log2(n), n - 1, 0}; }

Coefficients gtopk_tree(double n, const CollectiveOptions&) { return {2 * std::log2(n), 2 * std::log2(n), 0}; }

Coefficients pat(double n, const CollectiveOptions&) {
  return {2 * std::ceil(std::log2(n)), 2 * (n - 1) / n, (n - 1) / n};
}

Coefficients all_to_all(double n, const CollectiveOptions&) { return {1, (n - 1) / n, 0}; }

// The last of C chunks leaves C − 1 rounds after the first, and passes N − 1 hops.
Coefficients chain(double n, const CollectiveOptions& options) {
  const auto chunks = static_cast<double>(options.chunks);
  return {n - 1, (n + chunks - 2) / chunks, 0};
}

Coefficients in_network(double, const CollectiveOptions&) { return {1, 1, 0}; }

// On two levels (docs/models.md).

TransferCost ring_on_nodes(const NodeSymbols& s) {
  return {2 * (s.N - s.n) * s.a_i + 2 * (s.n - 1) * s.a_o, 2 * (s.N - 1) / s.N * std::max(s.b_i, s.ring_share * s.b_o)};
}

double halves(const NodeSymbols& s) { return 2 * (s.g - 1) / s.g * s.b_i + 2 * (s.n - 1) / s.N * s.b_x(); }

TransferCost hierarchical_on_nodes(const NodeSymbols& s) {
  return {2 * (s.g - 1) * s.a_i + 2 * (s.n - 1) * s.a_o, halves(s)};
}

TransferCost halving_doubling_on_nodes(const NodeSymbols& s) {
  return {2 * s.log_g * s.a_i + 2 * s.log_n * s.a_o, halves(s)};
}

TransferCost recursive_doubling_on_nodes(const NodeSymbols& s) {
  return {s.log_g * s.a_i + s.log_n * s.a_o, s.log_g * s.b_i + s.log_n * s.b_x()};
}

TransferCost parameter_server_on_nodes(const NodeSymbols& s) {
  const double inside = (s.N - 1) / s.N * s.b_i, outside = (s.N - s.g) / s.N * s.h * s.b_o;
  const double last = (s.N - s.q) / s.N * s.h_last * s.b_o;  // equals `outside` if the last node is full
  return {2 * s.a_o, 2 * std::max({inside, outside, last})};
}

TransferCost all_gather_on_nodes(const NodeSymbols& s) {
  return {s.log_g * s.a_i + s.log_n * s.a_o, (s.g - 1) * s.b_i + (s.N - s.g) * s.b_x()};
}

TransferCost binary_tree_on_nodes(const NodeSymbols& s) {
  return {2 * s.log_g * s.a_i + 2 * s.log_n * s.a_o,
          2 * s.log_g * s.b_i + 2 * s.log_n * std::max(s.b_i, s.flows * s.b_o)};
}

TransferCost double_binary_tree_on_nodes(const NodeSymbols& s) {
  return {2 * (s.g - 1) * s.a_i + 2 * s.log_n * s.a_o, 2 * std::max(s.b_i, s.c / s.r * s.b_o)};
}

// The first chunk passes all hops; the others follow at the pace of the slowest hop.
TransferCost chain_on_nodes(const NodeSymbols& s) {
  return {(s.N - s.n) * s.a_i + (s.n - 1) * s.a_o,
          ((s.N - s.n) * s.b_i + (s.n - 1) * s.b_o + (s.chunks - 1) * std::max(s.b_i, s.b_o)) / s.chunks};
}

// Reduce-scatter and all-gather around each node; each GPU's share goes through the switches between nodes.
TransferCost in_network_on_nodes(const NodeSymbols& s) {
  return {2 * (s.g - 1) * s.a_i + s.a_o, 2 * (s.g - 1) / s.g * s.b_i + s.b_x() / s.g, (s.g - 1) / s.g};
}

TransferCost half(const TransferCost& whole) { return {whole.a / 2, whole.b / 2}; }
TransferCost reduce_scatter_on_nodes(const NodeSymbols& s) { return half(ring_on_nodes(s)); }
TransferCost broadcast_on_nodes(const NodeSymbols& s) { return half(binary_tree_on_nodes(s)); }
TransferCost all_to_all_on_nodes(const NodeSymbols& s) { return half(parameter_server_on_nodes(s)); }

Rank power_of_two(std::string_view name, std::int64_t workers, const SourceLocation& place) {
  if (!std::has_single_bit(static_cast<std::uint64_t>(workers)))
    throw InputError(place, fmt::format("{} does not support {} workers", name, workers), "a power of two");
  return static_cast<Rank>(workers);
}

using Options = CollectiveOptions;

// Rounds that depend only on the number of ranks, and perhaps the operation.
template <auto rounds>
Rounds of_ranks(std::int64_t n, const Options&, CollectiveOp op, const SourceLocation&) {
  if constexpr (std::is_invocable_v<decltype(rounds), Rank>)
    return rounds(static_cast<Rank>(n));
  else
    return rounds(static_cast<Rank>(n), op);
}

Rounds ring_messages(std::int64_t n, const Options& options, CollectiveOp op, const SourceLocation&) {
  if (!options.in_nodes.empty())
    return node_ring_rounds(options.in_nodes, static_cast<std::uint32_t>(options.rails), op);
  return ring_rounds(static_cast<Rank>(n), 1, op);
}

Rounds hierarchical_messages(std::int64_t n, const Options& options, CollectiveOp op, const SourceLocation& place) {
  if (options.groups < 1 || n % options.groups != 0)
    throw InputError(place, fmt::format("{} workers cannot be divided into {} equal groups", n, options.groups),
                     "a number of groups that divides the workers");
  return ring_rounds(static_cast<Rank>(n), options.groups, op);
}

Rounds double_tree_messages(std::int64_t n, const Options& options, CollectiveOp op, const SourceLocation& place) {
  if (options.chunks < 1) throw InputError(place, fmt::format("{} chunks", options.chunks), "at least one");
  if (!options.in_nodes.empty())
    return node_tree_rounds(options.in_nodes, static_cast<std::uint32_t>(options.rails), options.chunks, op);
  return double_binary_tree_rounds(static_cast<Rank>(n), options.chunks, op);
}

Rounds halving_messages(std::int64_t n, const Options&, CollectiveOp op, const SourceLocation& place) {
  return halving_doubling_rounds(power_of_two("halving-doubling", n, place), op);
}

Rounds doubling_messages(std::int64_t n, const Options&, CollectiveOp, const SourceLocation& place) {
  return recursive_doubling_rounds(power_of_two("recursive-doubling", n, place));
}

Rounds server_messages(std::int64_t n, const Options& options, CollectiveOp op, const SourceLocation& place) {
  if (options.servers > n)
    throw InputError(place, fmt::format("{} servers do not fit on {} workers", options.servers, n),
                     fmt::format("at most {}", n));
  return parameter_server_rounds(static_cast<Rank>(n), options.servers > 0 ? options.servers : n, op);
}

Rounds bml_messages(std::int64_t workers, const Options& options, CollectiveOp op, const SourceLocation& place) {
  const auto root = std::llround(std::pow(static_cast<double>(workers), 1 / static_cast<double>(options.levels)));
  std::int64_t power = 1;
  for (std::int64_t level = 0; level < options.levels && power <= workers; ++level) power *= root;
  if (options.levels < 1 || options.levels > 16 || root < 2 || power != workers)
    throw InputError(place, fmt::format("bml does not support {} workers with {} levels", workers, options.levels),
                     "n^k workers on BCube(n, k)");
  return bml_rounds(root, options.levels, op);
}

Rounds scatter_messages(std::int64_t n, const Options& options, CollectiveOp, const SourceLocation& place) {
  return ring_messages(n, options, CollectiveOp::ReduceScatter, place);
}

Rounds broadcast_messages(std::int64_t n, const Options&, CollectiveOp, const SourceLocation&) {
  return binomial_rounds(static_cast<Rank>(n), CollectiveOp::AllGather);
}

Rounds gtopk_messages(std::int64_t n, const Options&, CollectiveOp op, const SourceLocation& place) {
  Rounds rounds = binomial_rounds(power_of_two("gtopk-tree", n, place), op);
  rounds.reduction_costs = false;
  return rounds;
}

Rounds chain_messages(std::int64_t n, const Options& options, CollectiveOp, const SourceLocation& place) {
  if (options.chunks < 1) throw InputError(place, fmt::format("{} chunks", options.chunks), "at least one");
  return broadcast_chain_rounds({static_cast<Rank>(n)}, 1, options.chunks);
}

Rounds in_network_messages(std::int64_t n, const Options& options, CollectiveOp, const SourceLocation&) {
  return in_network_rounds(static_cast<Rank>(n), options.hosts, options.rails);
}

}  // namespace

// Created on first use, since the rows hold std::function objects.
std::span<const Algorithm> algorithms() {
  static const Algorithm all[] = {
      {"ring", "2(N-1) rounds around a ring, a slice of 1/N each", "2(N−1)α", "2(N−1)/N·β + (N−1)/N·γ", "any", "", "",
       ring, ring_on_nodes, CollectiveOp::AllReduce, ring_messages, Halves::Scattered, false, false, false, "chain"},
      {"double-binary-tree", "two mirrored trees, half of the bytes each", "2α log N",
       "β + γ; with `tree_bandwidth=physical` 2β + γ", "any", "tree_bandwidth", "chunks", double_binary_tree,
       double_binary_tree_on_nodes, CollectiveOp::AllReduce, double_tree_messages, Halves::Rooted},
      {"halving-doubling", "recursive halving, then recursive doubling", "2α log N", "2β − (2β + γ)/N + γ",
       "power of 2", "", "", halving_doubling, halving_doubling_on_nodes, CollectiveOp::AllReduce, halving_messages,
       Halves::Scattered, false, true},
      {"recursive-doubling", "log N exchanges of everything", "α log N", "(β + γ) log N", "power of 2", "", "",
       recursive_doubling, recursive_doubling_on_nodes, CollectiveOp::AllReduce, doubling_messages, Halves::None},
      {"binary-tree", "reduce up and broadcast down one binomial tree", "2α log N", "(2β + γ) log N", "any", "", "",
       binary_tree, binary_tree_on_nodes, CollectiveOp::AllReduce, of_ranks<binomial_rounds>, Halves::Rooted, false,
       false, false, "broadcast"},
      {"parameter-server", "push to and pull from a server on every worker (or on `servers`)", "2α",
       "2(N−1)/S·β + (N−1)/S·γ with S servers (N by default)", "any, S ≤ N", "servers", "servers", parameter_server,
       parameter_server_on_nodes, CollectiveOp::AllReduce, server_messages, Halves::Scattered, true},
      {"hierarchical", "reduce-scatter within groups, all-reduce across, all-gather within",
       "2(N/G − 1)α + 2(G − 1)α with G groups", "2(N−1)/N·β + (N−1)/N·γ", "multiple of G", "", "", hierarchical,
       hierarchical_on_nodes, CollectiveOp::AllReduce, hierarchical_messages, Halves::Scattered, false, true, true},
      {"bml", "a thread per level of a BCube: aggregation, then broadcast", "2kα on BCube(n,k)",
       "2(N−1)/(kN)·β + (N−1)/N·γ", "nᵏ", "", "", bml, nullptr, CollectiveOp::AllReduce, bml_messages},
      {"all-gather", "log N exchanges of all payloads held so far", "α log N", "(N−1)β, M being one worker's payload",
       "any", "", "", all_gather, all_gather_on_nodes, CollectiveOp::AllGather, of_ranks<all_gather_rounds>,
       Halves::None},
      {"topk-allgather", "Top-k: an all-gather of every worker's values and indices", "α log N",
       "(N−1)β for the same M", "any", "", "", all_gather, all_gather_on_nodes, CollectiveOp::AllGather,
       of_ranks<all_gather_rounds>, Halves::None},
      {"gtopk-tree", "gTop-k: selections merged up a binomial tree, and broadcast", "2α log N",
       "2β log N for the same M", "power of 2", "", "", gtopk_tree, binary_tree_on_nodes, CollectiveOp::Selection,
       gtopk_messages, Halves::Rooted},
      {"reduce-scatter", "the first half of ring", "(N−1)α", "(N−1)/N·(β + γ)", "any", "", "", reduce_scatter,
       reduce_scatter_on_nodes, CollectiveOp::ReduceScatter, scatter_messages, Halves::None},
      {"nccl", "the choice of NCCL's tuner for each size, by its own cost model",
       "of the algorithm and the protocol chosen", "the same", "any", "", "", nullptr, nullptr,
       CollectiveOp::AllReduce},
      {"broadcast", "down a binomial tree from rank 0", "α log N", "β log N", "any", "", "", broadcast,
       broadcast_on_nodes, CollectiveOp::Broadcast, broadcast_messages, Halves::None},
      {"pat", "all-gather with the farthest first, after the same steps reversed as reduce-scatter", "2⌈log N⌉α",
       "2(N−1)/N·β + (N−1)/N·γ", "any", "", "", pat, nullptr, CollectiveOp::AllReduce, of_ranks<pat_rounds>},
      {"in-network", "switches sum on the way up and copy on the way down (SHARP)", "α", "β", "any", "", "", in_network,
       in_network_on_nodes, CollectiveOp::AllReduce, in_network_messages, Halves::None, false, true, false, "", true},
      {"all-to-all", "each rank sends every other its part, simultaneously", "α", "(N−1)/N·β", "any", "", "",
       all_to_all, all_to_all_on_nodes, CollectiveOp::AllToAll, of_ranks<all_to_all_rounds>, Halves::None},
      {"chain", "from rank to rank, in chunks", "(N−1)α", "(N+C−2)/C·β with C `chunks`", "any", "chunks", "chunks",
       chain, chain_on_nodes, CollectiveOp::Broadcast, chain_messages, Halves::None},
  };
  return all;
}

namespace {

// NCCL does not tune its all-to-all, which is sent as `direct`.
constexpr std::string_view nccl = "nccl", direct = "all-to-all";

const Algorithm* row(std::string_view name) { return row_named(algorithms(), name); }

}  // namespace

bool is_whole(const Algorithm& algorithm, CollectiveOp op) {
  return op == CollectiveOp::AllReduce || op == algorithm.operation;
}

bool gathers_payloads(const Algorithm& algorithm) {
  return algorithm.operation == CollectiveOp::AllGather && !algorithm.from_file;
}

const Algorithm* serving(const Algorithm& algorithm, CollectiveOp op) {
  if (algorithm.from_file) return algorithm.operation == op ? &algorithm : nullptr;
  const auto when = [&](bool can) { return can ? &algorithm : nullptr; };
  switch (op) {
    case CollectiveOp::AllReduce:
      return when(algorithm.operation == CollectiveOp::AllReduce);
    case CollectiveOp::ReduceScatter:
    case CollectiveOp::AllGather:
      return when((algorithm.operation == CollectiveOp::AllReduce && algorithm.halves == Halves::Scattered) ||
                  algorithm.name == to_string(op));
    case CollectiveOp::AllToAll:
      return algorithm.name == nccl ? row(direct) : when(algorithm.operation == CollectiveOp::AllToAll);
    case CollectiveOp::Broadcast:
      if (!algorithm.broadcast.empty()) return row(algorithm.broadcast);
      return when(algorithm.operation == CollectiveOp::Broadcast || algorithm.name == nccl);
    case CollectiveOp::Send:
    case CollectiveOp::Selection:
    case CollectiveOp::Gather:
    case CollectiveOp::Scatter:
      break;
  }
  return nullptr;
}

Rounds rounds_of(const Algorithm& algorithm, std::int64_t workers, const CollectiveOptions& options, CollectiveOp op,
                 const SourceLocation& place) {
  if (!algorithm.rounds)
    throw InputError(place, fmt::format("{} has no messages: it is priced as a whole", algorithm.name),
                     "the fidelity alpha-beta, or ring");
  const bool whole = is_whole(algorithm, op);
  if (!whole && algorithm.halves == Halves::None)
    throw InputError(place, fmt::format("{} has no reduce-scatter and all-gather halves", algorithm.name),
                     "ring, for example");
  Rounds rounds = algorithm.rounds(workers, options, whole ? CollectiveOp::AllReduce : op, place);
  if (op == CollectiveOp::AllGather && gathers_payloads(algorithm)) rounds.piece_share /= static_cast<double>(workers);
  return rounds;
}

const Algorithm& find_algorithm(std::string_view name, const SourceLocation& place) {
  return find_by_name(algorithms(), name, place, "unknown collective '{}'");
}

}  // namespace allreplay
