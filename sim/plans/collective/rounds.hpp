// A collective as rounds of messages between ranks, without times. sim/replay/network/ simulates these on a topology.
//
// The block is cut into equal pieces. A rank has one or more streams, independent threads of the algorithm. A stream
// sends its messages of a round once it has received, and reduced, all messages into it of earlier rounds. A channel
// carries one message at a time. In each round, all messages are on channels or none is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/core/collective_op.hpp"
#include "sim/base/core/units.hpp"
#include "sim/plans/collective/group.hpp"

namespace allreplay {

using Rank = std::uint32_t;

inline constexpr std::uint32_t no_channel = 0xffffffff;

struct Send {
  Rank to = 0;
  std::int64_t first = 0;              ///< sends the pieces first, first + step, … modulo Rounds::pieces
  std::int64_t count = 1;              ///< the number of pieces
  bool reduce = false;                 ///< added to the receiver's pieces; otherwise replaces them
  std::uint16_t stream = 0;            ///< the sender's stream
  std::uint16_t into = 0;              ///< the receiver's stream
  std::uint32_t channel = no_channel;  ///< waits until the previous message on this channel is delivered
  std::int64_t step = 1;
};

/// Every rank of `from` sends one piece to every other rank of `to`.
struct AllPairs {
  std::vector<Rank> from, to;
  bool reduce = false;

  /// True if messages outnumber both senders and receivers: then all ranks end at about the same time.
  bool is_wall() const;
};

/// States that all messages of a round have the same number of pieces and the same `reduce`. If two consecutive rounds
/// state it, both send between the same pairs of ranks.
struct Uniform {
  std::int64_t pieces = 1;
  bool reduce = false;
};

/// Switches sum `pieces` pieces of every rank on their way up a tree above all ranks, and copy the sums on their way
/// down. GPU i of a host uses tree i mod `trees`.
struct InSwitches {
  std::uint32_t trees = 1;
  std::int64_t pieces = 1;
};

struct Round {
  std::int64_t repeat = 1;
  /// Appends the messages of `from` in repetition `turn` (0 … repeat − 1). Only the numbers of the pieces may depend on
  /// the turn, not the receivers and the sizes.
  std::function<void(Rank from, std::int64_t turn, std::vector<Send>& out)> sends;
  std::shared_ptr<const AllPairs> all_pairs = nullptr;   ///< describes `sends`, if it has this form
  std::optional<Uniform> uniform = std::nullopt;         ///< describes `sends`, if it has this form
  std::optional<InSwitches> in_switches = std::nullopt;  ///< replaces messages between ranks
  bool wall = false;                                     ///< for several groups: AllPairs::is_wall() in each of them
};

struct Rounds {
  Rank ranks = 0;
  std::int64_t pieces = 1;
  double piece_share = 1;  ///< a piece's fraction of the block's bytes
  std::uint32_t streams = 1;
  std::uint32_t channels = 0;
  bool reduction_costs = true;  ///< false if γ does not apply: merging sparse selections is not a plain sum
  std::vector<Round> rounds;

  /// The number of rounds, counting every repetition.
  std::int64_t length() const;
};

/// The rounds `one` in all groups of ranks with distance `stride`. REQUIRES: stride · one.ranks divides `all`.
Rounds among_groups(Rounds one, Rank all, Rank stride);

/// The same if the groups lie in nodes differently: group j, in the order of first ranks, sends `kinds[kind_of[j]]`.
/// REQUIRES: kinds differ only in the receivers, and in the number of rounds that follows from these.
Rounds among_groups(const std::vector<Rounds>& kinds, std::vector<std::uint32_t> kind_of, Rank all, Rank stride);

/// The rounds `one` in all groups of a family simultaneously, which need not contain all of the `all` ranks. REQUIRES:
/// the group has no open values, and one.ranks ranks.
Rounds among_part(const Rounds& one, const Group& group, Rank all);

/// One message with all bytes from the first to the second member of each pair.
Rounds send_rounds(const Group& pairs, Rank all);

/// The number of a collective's ranks in each node, in order.
using InNodes = std::vector<Rank>;

// The builders. All of them require ranks >= 2.

/// In `groups` equal groups of consecutive ranks: reduce-scatter around each group, all-reduce around the ranks with
/// the same place in all groups, all-gather around each group. One group is a ring. REQUIRES: groups divides ranks.
Rounds ring_rounds(Rank ranks, std::int64_t groups, CollectiveOp op);

/// On two levels: `rings` simultaneous rings, with 1/rings of the bytes each. Every ring passes node after node; ring k
/// enters a node of s ranks at its rank k mod s, so that each ring uses a port of its own.
Rounds node_ring_rounds(InNodes in_nodes, std::uint32_t rings, CollectiveOp op);

/// Recursive halving, nearest rank first, then recursive doubling. REQUIRES: `ranks` is a power of two.
Rounds halving_doubling_rounds(Rank ranks, CollectiveOp op);

/// log N exchanges of the whole block. REQUIRES: `ranks` is a power of two.
Rounds recursive_doubling_rounds(Rank ranks);

/// An all-gather in which each round doubles what a rank has: by exchanges in pairs if N is a power of two, else by
/// sends around a ring (Bruck et al. 1997). The block is one rank's payload.
Rounds all_gather_rounds(Rank ranks);

/// Push to and pull from S = `servers` servers; server j is on rank j·N/S. REQUIRES: 1 <= servers <= ranks.
Rounds parameter_server_rounds(Rank ranks, std::int64_t servers, CollectiveOp op);

/// Every rank sends 1/ranks of its block to every other rank, in one round.
Rounds all_to_all_rounds(Rank ranks);

/// PAT (NCCL 2.23). All-gather, farthest ranks first: in round k = K − 1 … 0 rank i sends every piece that it has and
/// that rank i + 2^k lacks. The reduce-scatter is the reverse.
Rounds pat_rounds(Rank ranks, CollectiveOp op);

/// Broadcasts from rank 0 down chains of ranks, with 1/chains of the bytes each, in chunks: chunk c leaves rank number
/// i of its chain in round i + c. Chains pass the nodes as rings do (node_ring_rounds()). REQUIRES: chunks >= 1.
Rounds broadcast_chain_rounds(InNodes in_nodes, std::uint32_t chains, std::int64_t chunks);

/// Reduce-scatter around each host, each GPU's part through the switches, all-gather around each host. REQUIRES: hosts
/// divides ranks.
Rounds in_network_rounds(Rank ranks, std::int64_t hosts, std::int64_t trees);

/// BML on BCube(n, levels), with n^levels ranks: one thread per level, aggregation and then broadcast, one level per
/// step (docs/network.md, "BML's times").
Rounds bml_rounds(std::int64_t n, std::int64_t levels, CollectiveOp op);

/// Binomial tree with root 0: a reduction up (CollectiveOp::ReduceScatter), a broadcast down (CollectiveOp::AllGather),
/// or both. In the broadcast a rank sends to one child after another, largest subtree first.
Rounds binomial_rounds(Rank ranks, CollectiveOp op);

/// InTurn: each direction of a tree's edge is a channel. Shared: there are no channels.
enum class Edges : std::uint8_t { InTurn, Shared };

/// Two heap-ordered trees, the second the mirror image of the first, with half of the bytes each, in `chunks` chunks:
/// up to the root, and down again while later chunks still rise. Each direction of an edge is a channel.
Rounds double_binary_tree_rounds(Rank ranks, std::int64_t chunks, CollectiveOp op);

/// On two levels: `pairs` simultaneous pairs of trees, with 1/pairs of the bytes each. The trees of a pair connect
/// nodes as those above connect ranks. The s ranks of a node form a chain, which for pair k starts at rank k mod s.
Rounds node_tree_rounds(const InNodes& in_nodes, std::uint32_t pairs, std::int64_t chunks, CollectiveOp op,
                        Edges edges = Edges::InTurn);

}  // namespace allreplay
