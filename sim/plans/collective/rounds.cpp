#include "sim/plans/collective/rounds.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

namespace allreplay {

namespace {

void append(Rounds& rounds, std::int64_t repeat, decltype(Round::sends) sends,
            std::shared_ptr<const AllPairs> all_pairs = nullptr) {
  if (repeat > 0) rounds.rounds.push_back({repeat, std::move(sends), std::move(all_pairs)});
}

std::int64_t modulo(std::int64_t value, std::int64_t n) { return (value % n + n) % n; }

Rank log2_of(Rank power) { return static_cast<Rank>(std::bit_width(power) - 1); }

// The distribution of ranks over nodes. Ring k, or pair of trees k, enters a node of s ranks at its rank k mod s and
// passes through the node from there; a rank's place is its position on this way through all nodes.
class Nodes {
 public:
  explicit Nodes(InNodes in_nodes) : first_(in_nodes.size() + 1, 0) {
    std::partial_sum(in_nodes.begin(), in_nodes.end(), first_.begin() + 1);
  }

  Rank size() const { return static_cast<Rank>(first_.size() - 1); }
  Rank ranks() const { return first_.back(); }
  Rank first(Rank node) const { return first_[node]; }
  Rank count_in(Rank node) const { return first_[node + 1] - first_[node]; }

  Rank place_of(Rank rank, std::uint32_t k) const {
    const Rank node = node_of(rank), count = count_in(node);
    return first(node) + (rank - first(node) + count - k % count) % count;
  }
  Rank rank_at(Rank place, std::uint32_t k) const {
    const Rank node = node_of(place), count = count_in(node);
    return first(node) + (place - first(node) + k) % count;
  }

 private:
  Rank node_of(Rank rank) const {
    return static_cast<Rank>(std::upper_bound(first_.begin(), first_.end(), rank) - first_.begin() - 1);
  }

  std::vector<Rank> first_;  // by node: its first rank; and the number of ranks
};

// The rank with its bits in reverse order.
std::int64_t reversed(Rank rank, Rank bits) {
  std::int64_t result = 0;
  for (Rank bit = 0; bit < bits; ++bit) result = 2 * result + (rank >> bit & 1);
  return result;
}

}  // namespace

std::int64_t Rounds::length() const {
  std::int64_t sum = 0;
  for (const Round& round : rounds) sum += round.repeat;
  return sum;
}

bool AllPairs::is_wall() const {
  std::vector<Rank> senders = from, receivers = to, both;
  std::sort(senders.begin(), senders.end());
  std::sort(receivers.begin(), receivers.end());
  std::set_intersection(senders.begin(), senders.end(), receivers.begin(), receivers.end(), std::back_inserter(both));
  const std::size_t messages = senders.size() * receivers.size() - both.size();
  const std::size_t send = senders.size() - (receivers.size() == 1 ? both.size() : 0);
  const std::size_t receive = receivers.size() - (senders.size() == 1 ? both.size() : 0);
  return messages > send && messages > receive;
}

Rounds ring_rounds(Rank ranks, std::int64_t groups, CollectiveOp op) {
  // The rank at place p of group q has number q·g + p. Piece p·G + q belongs to it: inside a group, runs of G pieces
  // are sent, across groups single pieces. In turn t a rank passes on the run that it received in the previous turn, p
  // − t; in the end it has the sum of run p + 1.
  const std::int64_t g = ranks / groups;
  Rounds result{.ranks = ranks, .pieces = ranks, .piece_share = 1.0 / ranks};
  const auto inner = [=](std::int64_t offset, bool reduce) {
    return [=](Rank from, std::int64_t turn, std::vector<Send>& out) {
      const std::int64_t p = from % g;
      const auto next = static_cast<Rank>(from - p + (p + 1) % g);
      out.push_back({.to = next, .first = modulo(p + offset - turn, g) * groups, .count = groups, .reduce = reduce});
    };
  };
  const auto outer = [=](std::int64_t offset, bool reduce) {
    return [=](Rank from, std::int64_t turn, std::vector<Send>& out) {
      const std::int64_t p = from % g, q = from / g;
      const auto next = static_cast<Rank>((q + 1) % groups * g + p);
      out.push_back({.to = next, .first = (p + 1) % g * groups + modulo(q + offset - turn, groups), .reduce = reduce});
    };
  };
  if (op != CollectiveOp::AllGather) {
    append(result, g - 1, inner(0, true));
    append(result, groups - 1, outer(0, true));
  }
  if (op != CollectiveOp::ReduceScatter) {
    append(result, groups - 1, outer(1, false));
    append(result, g - 1, inner(1, false));
  }
  return result;
}

Rounds node_ring_rounds(InNodes in_nodes, std::uint32_t rings, CollectiveOp op) {
  const Rank ranks = std::accumulate(in_nodes.begin(), in_nodes.end(), Rank{0});
  Rounds result{.ranks = ranks,
                .pieces = std::int64_t{rings} * ranks,
                .piece_share = 1 / (static_cast<double>(rings) * ranks),
                .streams = rings};
  const auto nodes = std::make_shared<const Nodes>(std::move(in_nodes));
  // As in ring_rounds(), a rank at place p of a ring passes on run p + offset − t in turn t.
  const auto around = [=](std::int64_t offset, bool reduce) {
    return [=](Rank from, std::int64_t turn, std::vector<Send>& out) {
      for (std::uint32_t ring = 0; ring < rings; ++ring) {
        const Rank place = nodes->place_of(from, ring);
        out.push_back({.to = nodes->rank_at((place + 1) % ranks, ring),
                       .first = std::int64_t{ring} * ranks + modulo(place + offset - turn, ranks),
                       .reduce = reduce,
                       .stream = static_cast<std::uint16_t>(ring),
                       .into = static_cast<std::uint16_t>(ring)});
      }
    };
  };
  if (op != CollectiveOp::AllGather) append(result, ranks - 1, around(0, true));
  if (op != CollectiveOp::ReduceScatter) append(result, ranks - 1, around(1, false));
  return result;
}

Rounds halving_doubling_rounds(Rank ranks, CollectiveOp op) {
  // After r halvings a rank has the N/2^r consecutive pieces whose numbers begin with its r lowest bits, reversed.
  const Rank bits = log2_of(ranks);
  Rounds result{.ranks = ranks, .pieces = ranks, .piece_share = 1.0 / ranks};
  if (op != CollectiveOp::AllGather)
    for (Rank r = 0; r < bits; ++r)
      append(result, 1, [=](Rank from, std::int64_t, std::vector<Send>& out) {
        const Rank to = from ^ Rank { 1 } << r;
        const std::int64_t half = ranks >> (r + 1);
        out.push_back({.to = to, .first = reversed(to, bits) & -half, .count = half, .reduce = true});
      });
  if (op != CollectiveOp::ReduceScatter)
    for (Rank r = bits; r-- > 0;)
      append(result, 1, [=](Rank from, std::int64_t, std::vector<Send>& out) {
        const std::int64_t half = ranks >> (r + 1);
        out.push_back({.to = from ^ Rank{1} << r, .first = reversed(from, bits) & -half, .count = half});
      });
  return result;
}

Rounds recursive_doubling_rounds(Rank ranks) {
  Rounds result{.ranks = ranks};
  for (Rank distance = 1; distance < ranks; distance *= 2)
    append(result, 1, [=](Rank from, std::int64_t, std::vector<Send>& out) {
      out.push_back({.to = from ^ distance, .reduce = true});
    });
  return result;
}

Rounds all_gather_rounds(Rank ranks) {
  Rounds result{.ranks = ranks, .pieces = ranks, .piece_share = 1};
  const bool pairs = std::has_single_bit(ranks);
  for (Rank distance = 1; distance < ranks; distance *= 2)
    append(result, 1, [=](Rank from, std::int64_t, std::vector<Send>& out) {
      if (pairs)
        out.push_back({.to = from ^ distance, .first = from & ~(distance - 1), .count = distance});
      else
        out.push_back(
            {.to = (from + ranks - distance) % ranks, .first = from, .count = std::min(distance, ranks - distance)});
    });
  return result;
}

Rounds parameter_server_rounds(Rank ranks, std::int64_t servers, CollectiveOp op) {
  Rounds result{.ranks = ranks, .pieces = servers, .piece_share = 1.0 / static_cast<double>(servers)};
  const auto place = [=](std::int64_t server) { return static_cast<Rank>(server * ranks / servers); };
  std::vector<Rank> everybody(ranks), servers_on;
  std::iota(everybody.begin(), everybody.end(), Rank{0});
  for (std::int64_t server = 0; server < servers; ++server) servers_on.push_back(place(server));
  if (op != CollectiveOp::AllGather)
    append(
        result, 1,
        [=](Rank from, std::int64_t, std::vector<Send>& out) {
          for (std::int64_t server = 0; server < servers; ++server)
            if (place(server) != from) out.push_back({.to = place(server), .first = server, .reduce = true});
        },
        std::make_shared<AllPairs>(AllPairs{everybody, servers_on, true}));
  if (op != CollectiveOp::ReduceScatter)
    append(
        result, 1,
        [=](Rank from, std::int64_t, std::vector<Send>& out) {
          const std::int64_t server =
              (from * servers + ranks - 1) / ranks;  // the first server on `from` or a higher rank
          if (server >= servers || place(server) != from) return;
          for (Rank to = 0; to < ranks; ++to)
            if (to != from) out.push_back({.to = to, .first = server});
        },
        std::make_shared<AllPairs>(AllPairs{servers_on, everybody, false}));
  return result;
}

Rounds all_to_all_rounds(Rank ranks) {
  Rounds result{.ranks = ranks, .pieces = std::int64_t{ranks} * ranks, .piece_share = 1.0 / ranks};
  std::vector<Rank> everybody(ranks);
  std::iota(everybody.begin(), everybody.end(), Rank{0});
  append(
      result, 1,
      [=](Rank from, std::int64_t, std::vector<Send>& out) {
        for (Rank to = 0; to < ranks; ++to)
          if (to != from) out.push_back({.to = to, .first = std::int64_t{from} * ranks + to});
      },
      std::make_shared<AllPairs>(AllPairs{everybody, everybody, false}));
  return result;
}

Rounds pat_rounds(Rank ranks, CollectiveOp op) {
  // Before round k of the all-gather, rank i has the pieces i − m·2^(k+1) for all m up to once around.
  const Rank depth = static_cast<Rank>(std::bit_width(ranks - 1));
  Rounds result{.ranks = ranks, .pieces = ranks, .piece_share = 1.0 / ranks};
  const auto due = [=](Rank k) {
    const std::int64_t distance = std::int64_t{1} << k, held = (ranks + distance - 1) / distance;
    return Send{.count = held / 2, .step = -2 * distance};
  };
  if (op != CollectiveOp::AllGather)
    for (Rank k = 0; k < depth; ++k)
      append(result, 1, [=](Rank from, std::int64_t, std::vector<Send>& out) {
        Send send = due(k);
        send.to = static_cast<Rank>(modulo(from - (std::int64_t{1} << k), ranks));
        send.first = send.to;
        send.reduce = true;
        out.push_back(send);
      });
  if (op != CollectiveOp::ReduceScatter)
    for (Rank k = depth; k-- > 0;)
      append(result, 1, [=](Rank from, std::int64_t, std::vector<Send>& out) {
        Send send = due(k);
        send.to = static_cast<Rank>(modulo(from + (std::int64_t{1} << k), ranks));
        send.first = from;
        out.push_back(send);
      });
  return result;
}

Rounds broadcast_chain_rounds(InNodes in_nodes, std::uint32_t chains, std::int64_t chunks) {
  const auto nodes = std::make_shared<const Nodes>(std::move(in_nodes));
  const Rank ranks = nodes->ranks();
  const std::int64_t pieces = chains * chunks;
  Rounds result{.ranks = ranks, .pieces = pieces, .piece_share = 1 / static_cast<double>(pieces), .streams = chains};
  for (std::int64_t round = 0; round < ranks + chunks - 2; ++round)
    append(result, 1, [=](Rank from, std::int64_t, std::vector<Send>& out) {
      for (std::uint32_t chain = 0; chain < chains; ++chain) {
        const Rank place = nodes->place_of(from, chain);
        const std::int64_t steps_from_root = modulo(std::int64_t{place} - nodes->place_of(0, chain), ranks);
        const std::int64_t chunk = round - steps_from_root;
        if (steps_from_root + 1 == ranks || chunk < 0 || chunk >= chunks) continue;
        out.push_back({.to = nodes->rank_at((place + 1) % ranks, chain),
                       .first = chain * chunks + chunk,
                       .stream = static_cast<std::uint16_t>(chain),
                       .into = static_cast<std::uint16_t>(chain)});
      }
    });
  return result;
}

Rounds in_network_rounds(Rank ranks, std::int64_t hosts, std::int64_t trees) {
  // Uses the rounds of `hierarchical` around hosts, after which GPU p has run p + 1, of `hosts` pieces.
  Rounds around = ring_rounds(ranks, hosts, CollectiveOp::AllReduce);
  const std::int64_t gpus = ranks / hosts;
  Rounds result{.ranks = ranks, .pieces = around.pieces, .piece_share = around.piece_share};
  if (gpus > 1) result.rounds.push_back(around.rounds.front());
  append(result, 1, [](auto&&...) {});
  result.rounds.back().in_switches = {static_cast<std::uint32_t>(std::min(trees, gpus)), hosts};
  if (gpus > 1) result.rounds.push_back(around.rounds.back());
  return result;
}

Rounds bml_rounds(std::int64_t n, std::int64_t levels, CollectiveOp op) {
  // Thread t corrects the digits t, t + 1, … (mod k). Its pieces are numbered by their digits in that order, the first
  // one being the most significant: the pieces with given first w + 1 digits are a run of n^(k−1−w).
  std::vector<std::int64_t> power(static_cast<std::size_t>(levels + 1), 1);
  for (std::size_t i = 1; i < power.size(); ++i) power[i] = power[i - 1] * n;
  const std::int64_t count = power.back();
  Rounds result{.ranks = static_cast<Rank>(count),
                .pieces = levels * count,
                .piece_share = 1.0 / static_cast<double>(levels * count),
                .streams = static_cast<std::uint32_t>(levels)};
  // The exchange of all threads in step w: sends the pieces that the receiver (or the sender) collects.
  const auto exchange = [=](std::int64_t w, bool reduce) {
    return [=](Rank from, std::int64_t, std::vector<Send>& out) {
      for (std::int64_t t = 0; t < levels; ++t) {
        const std::int64_t unit = power[(t + w) % levels], digit = from / unit % n, run = power[levels - 1 - w];
        std::int64_t own = t * count;
        for (std::int64_t i = 0; i <= w; ++i) own += from / power[(t + i) % levels] % n * power[levels - 1 - i];
        for (std::int64_t other = 0; other < n; ++other) {
          if (other == digit) continue;
          const auto to = static_cast<Rank>(from + (other - digit) * unit);
          out.push_back({.to = to,
                         .first = reduce ? own + (other - digit) * run : own,
                         .count = run,
                         .reduce = reduce,
                         .stream = static_cast<std::uint16_t>(t),
                         .into = static_cast<std::uint16_t>(t)});
        }
      }
    };
  };
  // In every step the threads together use all switches of all levels.
  const auto step = [&](std::int64_t w, bool reduce) {
    append(result, 1, exchange(w, reduce));
    result.rounds.back().uniform = {.pieces = power[levels - 1 - w], .reduce = reduce};
  };
  if (op != CollectiveOp::AllGather)
    for (std::int64_t w = 0; w < levels; ++w) step(w, true);
  if (op != CollectiveOp::ReduceScatter)
    for (std::int64_t w = levels; w-- > 0;) step(w, false);
  return result;
}

Rounds binomial_rounds(Rank ranks, CollectiveOp op) {
  Rounds result{.ranks = ranks, .channels = ranks};
  const Rank depth = static_cast<Rank>(std::bit_width(ranks - 1));
  if (op != CollectiveOp::AllGather)
    for (Rank r = 0; r < depth; ++r)
      append(result, 1, [=](Rank from, std::int64_t, std::vector<Send>& out) {
        const Rank step = Rank{1} << r;
        if (from % (2 * step) == step) out.push_back({.to = from - step, .reduce = true});
      });
  if (op != CollectiveOp::ReduceScatter)
    for (Rank r = depth; r-- > 0;)
      append(result, 1, [=](Rank from, std::int64_t, std::vector<Send>& out) {
        const Rank step = Rank{1} << r;
        if (from % (2 * step) == 0 && from + step < ranks) out.push_back({.to = from + step, .channel = from});
      });
  return result;
}

namespace {

// The parents and children of ranks.
struct Tree {
  // `order`: every rank once, after its parent. The root is its own parent.
  Tree(std::span<const Rank> order, std::vector<Rank> parents)
      : parent(std::move(parents)), depth(parent.size(), 0), first(parent.size() + 1, 0), children(parent.size() - 1) {
    for (const Rank rank : order.subspan(1)) {
      depth[rank] = depth[parent[rank]] + 1;
      ++first[parent[rank] + 1];
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<Rank> next(first.begin(), first.end() - 1);
    for (const Rank rank : order.subspan(1)) children[next[parent[rank]]++] = rank;
  }

  Rank root() const { return static_cast<Rank>(std::find(depth.begin(), depth.end(), 0) - depth.begin()); }
  std::span<const Rank> children_of(Rank rank) const {
    return std::span(children).subspan(first[rank], first[rank + 1] - first[rank]);
  }

  std::vector<Rank> parent;
  std::vector<std::int64_t> depth;
  std::vector<Rank> first, children;  // the children of each rank, in the given order, and the index of the first
};

// Let H be the largest depth. A rank at depth d sends chunk c up in round H − d + c, one round after its children; the
// root has chunk c after round H − 1 + c; a rank at depth d sends it down in round H + d + c. A single half has
// H + C − 1 rounds. Each tree has a stream up and a stream down; the root receives into the stream down.
Rounds pipelined(std::vector<Tree> made, std::int64_t chunks, CollectiveOp op, Edges edges) {
  const auto trees = std::make_shared<const std::vector<Tree>>(std::move(made));
  const auto ranks = static_cast<Rank>(trees->front().parent.size());
  const auto count = static_cast<std::uint32_t>(trees->size());
  std::int64_t height = 0;
  std::vector<Rank> roots;
  for (const Tree& tree : *trees) {
    height = std::max(height, *std::max_element(tree.depth.begin(), tree.depth.end()));
    roots.push_back(tree.root());
  }
  const std::int64_t down_after = op == CollectiveOp::AllReduce ? height : 0;
  const std::int64_t length = down_after + height + chunks - 1;
  Rounds result{.ranks = ranks,
                .pieces = count * chunks,
                .piece_share = 1 / static_cast<double>(count * chunks),
                .streams = 2 * count,
                .channels = edges == Edges::InTurn ? 2 * count * ranks : 0};
  const auto channel = [=](std::uint32_t number) { return edges == Edges::InTurn ? number : no_channel; };
  for (std::int64_t round = 0; round < length; ++round)
    append(result, 1, [=](Rank from, std::int64_t, std::vector<Send>& out) {
      for (std::uint32_t number = 0; number < count; ++number) {
        const Tree& tree = (*trees)[number];
        const std::int64_t depth = tree.depth[from];
        const auto up = static_cast<std::uint16_t>(2 * number), down = static_cast<std::uint16_t>(2 * number + 1);
        const std::int64_t rising = round - (height - depth), falling = round - (down_after + depth);
        if (op != CollectiveOp::AllGather && depth > 0 && rising >= 0 && rising < chunks) {
          const Rank parent = tree.parent[from];
          out.push_back({.to = parent,
                         .first = number * chunks + rising,
                         .reduce = true,
                         .stream = up,
                         .into = parent == roots[number] ? down : up,
                         .channel = channel(up * ranks + from)});
        }
        if (op != CollectiveOp::ReduceScatter && falling >= 0 && falling < chunks)
          for (const Rank child : tree.children_of(from))
            out.push_back({.to = child,
                           .first = number * chunks + falling,
                           .stream = down,
                           .into = down,
                           .channel = channel(down * ranks + child)});
      }
    });
  return result;
}

}  // namespace

Rounds double_binary_tree_rounds(Rank ranks, std::int64_t chunks, CollectiveOp op) {
  return node_tree_rounds(InNodes(ranks, 1), 1, chunks, op);
}

Rounds node_tree_rounds(const InNodes& in_nodes, std::uint32_t pairs, std::int64_t chunks, CollectiveOp op,
                        Edges edges) {
  const Nodes nodes(in_nodes);
  std::vector<Tree> trees;
  for (std::uint32_t pair = 0; pair < pairs; ++pair)
    for (const bool mirrored : {false, true}) {
      std::vector<Rank> order, parents(nodes.ranks());
      for (Rank place = 0; place < nodes.size(); ++place) {
        const auto node_at = [&](Rank one) { return mirrored ? nodes.size() - 1 - one : one; };
        const Rank node = node_at(place), above = node_at(place > 0 ? (place - 1) / 2 : 0);
        Rank parent = nodes.rank_at(nodes.first(above), pair);
        for (Rank along = 0; along < nodes.count_in(node); ++along) {
          order.push_back(nodes.rank_at(nodes.first(node) + along, pair));
          parents[order.back()] = parent;
          parent = order.back();
        }
      }
      trees.emplace_back(order, std::move(parents));
    }
  return pipelined(std::move(trees), chunks, op, edges);
}

}  // namespace allreplay
