// A collective as rounds of messages between ranks: what is sent, never when. Every fidelity prices these.
//
// The block is cut into equal pieces. A rank has one or more streams, independent threads of the algorithm (one, for
// most). What a stream sends in a round needs all that came into that stream in the rounds before, reduced where it is
// to be reduced, and nothing else; only a channel, where an algorithm has them, carries one message at a time. All
// messages of a round are on channels, or none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/collective/group.hpp"
#include "sim/core/collective_op.hpp"
#include "sim/core/units.hpp"

namespace allreplay {

using Rank = std::uint32_t;

inline constexpr std::uint32_t no_channel = 0xffffffff;

struct Send {
  Rank to = 0;
  std::int64_t first = 0;              ///< pieces first, first + step, … modulo Rounds::pieces,
  std::int64_t count = 1;              ///< so many
  bool reduce = false;                 ///< added to what the receiver has; else it replaces that
  std::uint16_t stream = 0;            ///< of the sender: whose data it is
  std::uint16_t into = 0;              ///< of the receiver: which stream waits for it
  std::uint32_t channel = no_channel;  ///< waits until what was sent before on the same channel is delivered
  std::int64_t step = 1;
};

/// Every one of `from` sends one piece to every other of `to`.
struct AllPairs {
  std::vector<Rank> from, to;
  bool reduce = false;

  /// Whether these are more messages than senders, and than receivers: then nobody is done long before the others.
  bool is_wall() const;
};

/// Of a round: all messages have so many pieces, and all are reduced or none. Where the round before says so, too, the
/// two send between the same ranks.
struct Alike {
  std::int64_t pieces = 1;
  bool reduce = false;
};

/// Pieces that switches sum on their way up a tree above all ranks, and copy on their way down again: so many of each
/// rank, those of GPU i of a host on tree i mod `trees`.
struct InSwitches {
  std::uint32_t trees = 1;
  std::int64_t pieces = 1;
};

struct Round {
  std::int64_t repeat = 1;
  /// Appends what `from` sends the `turn`-th time (0 … repeat − 1). Only the pieces depend on the turn: whom ranks send
  /// to, and how much, does not.
  std::function<void(Rank from, std::int64_t turn, std::vector<Send>& out)> sends;
  std::shared_ptr<const AllPairs> all_pairs = nullptr;   ///< what `sends` says, where it is that
  std::optional<Alike> alike = std::nullopt;             ///< likewise
  std::optional<InSwitches> in_switches = std::nullopt;  ///< in the place of messages between ranks
  bool wall = false;                                     ///< among groups: it is one in each (AllPairs::is_wall)
};

struct Rounds {
  Rank ranks = 0;
  std::int64_t pieces = 1;
  double piece_share = 1;  ///< a piece's part of the block's bytes
  std::uint32_t streams = 1;
  std::uint32_t channels = 0;
  bool reduction_costs = true;  ///< whether γ counts (a sparse selection is not the γ of the network)
  std::vector<Round> rounds;

  /// Rounds one after another, each repetition counted.
  std::int64_t length() const;
};

/// The same among each of several groups at once: of `all` ranks, those that are `stride` apart, as many as `one` has.
/// REQUIRES: stride times that many divides `all`.
Rounds among_groups(Rounds one, Rank all, Rank stride);

/// The same where groups lie in nodes differently: group j, counted by its first rank, sends the rounds
/// `kinds[kind_of[j]]`. REQUIRES: kinds differ in whom ranks send to, and in how many rounds that follow, alone.
Rounds among_groups(const std::vector<Rounds>& kinds, std::vector<std::uint32_t> kind_of, Rank all, Rank stride);

/// The rounds `one` in each group of a family at once, which need not hold all of `all` ranks. REQUIRES: nothing is
/// left open in it, and `one` has as many ranks as a group.
Rounds among_part(const Rounds& one, const Group& group, Rank all);

/// From the first of each group's two members to the second, all bytes.
Rounds send_rounds(const Group& pairs, Rank all);

/// How many of a collective's ranks lie in each node, in order.
using InNodes = std::vector<Rank>;

// The builders. REQUIRES, of each: ranks >= 2, and what is said beside it.

/// Ranks in `groups` equal groups of consecutive ranks: reduce-scatter around each group, all-reduce around the ranks
/// of equal place in all groups, all-gather around each group. One group is the ring. REQUIRES: groups divides ranks.
Rounds ring_rounds(Rank ranks, std::int64_t groups, CollectiveOp op);

/// On two levels: `rings` rings at once, with 1/rings of the bytes each. All fill node after node; ring k enters a node
/// of s ranks at the one that is number k mod s there, so that each ring comes by a port of its own.
Rounds node_ring_rounds(InNodes in_nodes, std::uint32_t rings, CollectiveOp op);

/// Recursive halving, nearest rank first, then recursive doubling. REQUIRES: a power of two.
Rounds halving_doubling_rounds(Rank ranks, CollectiveOp op);

/// log N exchanges of everything. REQUIRES: a power of two.
Rounds recursive_doubling_rounds(Rank ranks);

/// Every rank's payload to all, doubling what each has: with its partner where N is a power of two, else around
/// (Bruck et al. 1997). The payload is the block.
Rounds all_gather_rounds(Rank ranks);

/// Push to and pull from `servers` servers, on ranks j·N/S. REQUIRES: 1 <= servers <= ranks.
Rounds parameter_server_rounds(Rank ranks, std::int64_t servers, CollectiveOp op);

/// From everybody to everybody at once: 1/ranks of what each has. The block is all that one has.
Rounds all_to_all_rounds(Rank ranks);

/// All-gather, the farthest first: in round k = K − 1 … 0 rank i sends every piece that is both its own and due to
/// i + 2^k; the reduce-scatter is that backwards (PAT: NCCL 2.23).
Rounds pat_rounds(Rank ranks, CollectiveOp op);

/// Down chains of ranks from rank 0, with 1/chains of the bytes each, in chunks: chunk c leaves the rank that is number
/// i of its chain in round i + c. Chains go where rings do (node_ring_rounds): one among ranks in their order.
/// REQUIRES: chunks >= 1.
Rounds broadcast_chain_rounds(InNodes in_nodes, std::uint32_t chains, std::int64_t chunks);

/// Reduce-scatter around each of `hosts` hosts, what is left of each GPU through the switches, all-gather around each
/// host. REQUIRES: hosts divides ranks.
Rounds in_network_rounds(Rank ranks, std::int64_t hosts, std::int64_t trees);

/// BML on BCube(n, levels): one thread per level, aggregation and then broadcast, a level per step (docs/network.md,
/// "BML's times").
/// REQUIRES: ranks = n^levels.
Rounds bml_rounds(std::int64_t n, std::int64_t levels, CollectiveOp op);

/// Binomial tree at rank 0: a reduction up (CollectiveOp::ReduceScatter), a broadcast down (CollectiveOp::AllGather),
/// or both. In the broadcast a rank sends to one child after the other, the largest subtree first.
Rounds binomial_rounds(Rank ranks, CollectiveOp op);

/// Whether each direction of a tree's edge is a channel.
enum class Edges : std::uint8_t { InTurn, Shared };

/// Two heap-ordered trees, the second the mirror of the first, half of the bytes each, in `chunks` per tree: up, and
/// from the root down again while later chunks still rise. Each direction of each edge carries one message at a time.
Rounds double_binary_tree_rounds(Rank ranks, std::int64_t chunks, CollectiveOp op);

/// On two levels: `pairs` pairs of trees at once, with 1/pairs of the bytes each. A pair's trees join the nodes as
/// those above join ranks; within a node of s ranks all hang in a chain on the one that is number k mod s, of pair k.
Rounds node_tree_rounds(const InNodes& in_nodes, std::uint32_t pairs, std::int64_t chunks, CollectiveOp op,
                        Edges edges = Edges::InTurn);

}  // namespace allreplay
