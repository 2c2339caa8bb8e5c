// Every collective, run over symbols instead of bytes: in the end all have everything, and nothing twice.
#include "sim/plans/collective/rounds.hpp"

#include <bit>
#include <map>
#include <numeric>

#include "tests/catch.hpp"

#include "sim/plans/collective/algorithm.hpp"

using namespace allreplay;

namespace {

// The contributions of each rank to each piece, for each stream of each rank. Rounds run in lockstep, and a stream
// sends what it had before the round: if it sent something that it had not yet, a contribution would be missing.
class Contributions {
 public:
  Contributions(const Rounds& rounds, CollectiveOp operation) : rounds_(rounds) {
    has_.assign(rounds.ranks * rounds.streams * rounds.pieces, std::vector<int>(rounds.ranks, 0));
    for (Rank rank = 0; rank < rounds.ranks; ++rank)
      for (std::uint32_t stream = 0; stream < rounds.streams; ++stream)
        for (std::int64_t piece = 0; piece < rounds.pieces; ++piece) {
          const bool has = operation == CollectiveOp::AllGather   ? piece == rank
                           : operation == CollectiveOp::Broadcast ? rank == 0
                           : operation == CollectiveOp::AllToAll  ? piece / rounds.ranks == rank
                                                                  : true;
          at(has_, rank, stream, piece)[rank] = has;
        }
  }

  void run(const Rounds& rounds) {
    for (const Round& round : rounds.rounds)
      for (std::int64_t turn = 0; turn < round.repeat; ++turn) {
        if (round.in_switches) sum_in_switches(*round.in_switches);
        const auto before = has_;
        for (Rank from = 0; from < rounds.ranks; ++from) {
          std::vector<Send> sends;
          round.sends(from, turn, sends);
          for (const Send& send : sends) {
            REQUIRE(send.to != from);
            REQUIRE(send.to < rounds.ranks);
            for (std::int64_t i = 0; i < send.count; ++i) {
              const std::int64_t piece = ((send.first + i * send.step) % rounds.pieces + rounds.pieces) % rounds.pieces;
              const std::vector<int>& sent = before[index(from, send.stream, piece)];
              std::vector<int>& got = at(has_, send.to, send.into, piece);
              for (Rank rank = 0; rank < rounds.ranks; ++rank) got[rank] = (send.reduce ? got[rank] : 0) + sent[rank];
            }
          }
        }
      }
  }

  // The pieces of which a rank has most: of its host's, those that it has summed. Switches add them up for all ranks
  // that have the same.
  void sum_in_switches(const InSwitches& switches) {
    const auto contributions = [&](Rank rank, std::int64_t piece) {
      const std::vector<int>& all = has_[index(rank, 0, piece)];
      return std::accumulate(all.begin(), all.end(), 0);
    };
    std::map<std::int64_t, std::vector<int>> sums;
    std::map<Rank, std::vector<std::int64_t>> own;
    for (Rank rank = 0; rank < rounds_.ranks; ++rank) {
      int most = 0;
      for (std::int64_t piece = 0; piece < rounds_.pieces; ++piece) most = std::max(most, contributions(rank, piece));
      for (std::int64_t piece = 0; piece < rounds_.pieces; ++piece) {
        if (contributions(rank, piece) < most) continue;
        own[rank].push_back(piece);
        std::vector<int>& sum = sums[piece];
        sum.resize(rounds_.ranks, 0);
        for (Rank one = 0; one < rounds_.ranks; ++one) sum[one] += has_[index(rank, 0, piece)][one];
      }
      REQUIRE(std::ssize(own[rank]) == switches.pieces);
    }
    for (const auto& [rank, pieces] : own)
      for (const std::int64_t piece : pieces) at(has_, rank, 0, piece) = sums[piece];
  }

  // True if some stream of the rank has exactly these contributions to the piece.
  bool has(Rank rank, std::int64_t piece, const std::vector<int>& what) const {
    for (std::uint32_t stream = 0; stream < rounds_.streams; ++stream)
      if (has_[index(rank, stream, piece)] == what) return true;
    return false;
  }

 private:
  std::size_t index(Rank rank, std::uint32_t stream, std::int64_t piece) const {
    return (rank * rounds_.streams + stream) * rounds_.pieces + piece;
  }
  std::vector<int>& at(std::vector<std::vector<int>>& all, Rank rank, std::uint32_t stream, std::int64_t piece) const {
    return all[index(rank, stream, piece)];
  }

  const Rounds& rounds_;
  std::vector<std::vector<int>> has_;
};

const Algorithm& named(const std::string& name) { return find_algorithm(name, {"test", ""}); }

Rounds rounds_of(const std::string& name, std::int64_t workers, const CollectiveOptions& options = {},
                 CollectiveOp op = CollectiveOp::AllReduce) {
  return rounds_of(named(name), workers, options, op, {"test", ""});
}

void require_complete(const Contributions& contributions, const Rounds& rounds, CollectiveOp operation) {
  if (operation == CollectiveOp::AllToAll) {  // piece i·N + j is i's for j
    for (std::int64_t piece = 0; piece < rounds.pieces; ++piece) {
      std::vector<int> own(rounds.ranks, 0);
      own[static_cast<std::size_t>(piece / rounds.ranks)] = 1;
      CHECK(contributions.has(static_cast<Rank>(piece % rounds.ranks), piece, own));
    }
    return;
  }
  const std::vector<int> everybody(rounds.ranks, 1);
  for (std::int64_t piece = 0; piece < rounds.pieces; ++piece) {
    std::vector<int> whole = everybody;
    if (operation == CollectiveOp::AllGather || operation == CollectiveOp::Broadcast) whole.assign(rounds.ranks, 0);
    if (operation == CollectiveOp::AllGather) whole[piece] = 1;
    if (operation == CollectiveOp::Broadcast) whole[0] = 1;
    Rank having = 0;
    for (Rank rank = 0; rank < rounds.ranks; ++rank) having += contributions.has(rank, piece, whole);
    CHECK(having == (operation == CollectiveOp::ReduceScatter ? 1 : rounds.ranks));
  }
}

void require_works(const std::string& name, std::int64_t workers, const CollectiveOptions& options = {}) {
  INFO(name << " among " << workers << ", servers " << options.servers << ", chunks " << options.chunks << ", groups "
            << options.groups << ", levels " << options.levels);
  const Rounds rounds = rounds_of(name, workers, options);
  const CollectiveOp operation = named(name).operation;
  Contributions contributions(rounds, operation);
  contributions.run(rounds);
  require_complete(contributions, rounds, operation);
}

void require_halves_work(const std::string& name, std::int64_t workers, const CollectiveOptions& options = {}) {
  INFO("the halves of " << name << " among " << workers);
  const Rounds first = rounds_of(name, workers, options, CollectiveOp::ReduceScatter),
               second = rounds_of(name, workers, options, CollectiveOp::AllGather);
  REQUIRE(first.pieces == second.pieces);
  Contributions contributions(first, CollectiveOp::AllReduce);
  contributions.run(first);
  contributions.run(second);
  require_complete(contributions, first, CollectiveOp::AllReduce);
}

}  // namespace

TEST_CASE("every collective gives every rank every contribution exactly once") {
  for (const Algorithm& one : algorithms())
    for (const std::int64_t n : {2, 3, 4, 5, 7, 8, 12, 16, 32})
      if (one.rounds && !one.in_switches &&
          (one.workers != "power of 2" || std::has_single_bit(static_cast<std::uint64_t>(n))))
        require_works(std::string(one.name), n);
  for (const std::int64_t n : {2, 3, 4, 5, 7, 8, 12, 16}) {
    for (const std::int64_t chunks : {1, 2, 5, 16})
      for (const char* name : {"double-binary-tree", "chain"}) require_works(name, n, {.chunks = chunks});
    for (std::int64_t hosts = 2; hosts <= n; ++hosts)
      if (n % hosts == 0) require_works("in-network", n, {.hosts = hosts, .rails = 2});
    for (std::int64_t servers = 1; servers <= n; ++servers) require_works("parameter-server", n, {.servers = servers});
    for (std::int64_t groups = 1; groups <= n; ++groups)
      if (n % groups == 0) require_works("hierarchical", n, {.groups = groups});
  }
  for (const auto& [n, k] : {std::pair{2, 2}, {2, 3}, {2, 4}, {3, 2}, {4, 2}, {3, 3}}) {
    std::int64_t workers = 1;
    for (int i = 0; i < k; ++i) workers *= n;
    require_works("bml", workers, {.levels = k});
  }
}

TEST_CASE("the halves of a collective make the whole") {
  for (const std::int64_t n : {2, 4, 8, 16}) {
    for (const char* name :
         {"ring", "halving-doubling", "parameter-server", "binary-tree", "double-binary-tree", "bml"})
      require_halves_work(name, n);
    require_halves_work("hierarchical", n, {.groups = 2});
  }
  require_halves_work("bml", 9, {.levels = 2});
  for (const std::int64_t n : {2, 3, 5, 6, 7, 12, 17}) require_halves_work("pat", n);
}

// 5 ranks, K = 3: ⌈5/4⌉ − ⌈5/8⌉ = 1 piece 4 further, ⌈5/2⌉ − ⌈5/4⌉ = 1 piece 2 further, 5 − ⌈5/2⌉ = 2 pieces to the
// next (NCCL 2.23's PAT).
TEST_CASE("PAT sends the farthest first") {
  const Rounds rounds = rounds_of("pat", 5, {}, CollectiveOp::AllGather);
  std::vector<std::pair<Rank, std::int64_t>> sent;
  for (const Round& round : rounds.rounds) {
    std::vector<Send> sends;
    round.sends(0, 0, sends);
    sent.emplace_back(sends.at(0).to, sends.at(0).count);
  }
  CHECK(sent == std::vector<std::pair<Rank, std::int64_t>>{{4, 1}, {2, 1}, {1, 2}});
}

TEST_CASE("the algorithm that serves an operation") {
  const auto by = [](const char* name, CollectiveOp op) {
    const Algorithm* one = serving(named(name), op);
    return std::string(one ? one->name : "");
  };
  for (const char* name : {"ring", "hierarchical", "halving-doubling", "bml", "parameter-server", "pat", "nccl"})
    for (const CollectiveOp op : {CollectiveOp::AllReduce, CollectiveOp::ReduceScatter, CollectiveOp::AllGather})
      CHECK(by(name, op) == name);
  for (const char* name : {"binary-tree", "double-binary-tree", "recursive-doubling", "in-network", "gtopk-tree",
                           "topk-allgather", "broadcast", "all-to-all"})
    CHECK(by(name, CollectiveOp::AllGather).empty());
  CHECK(by("all-gather", CollectiveOp::AllGather) == "all-gather");
  CHECK(by("all-gather", CollectiveOp::ReduceScatter).empty());
  CHECK(by("reduce-scatter", CollectiveOp::ReduceScatter) == "reduce-scatter");
  CHECK(by("in-network", CollectiveOp::AllReduce) == "in-network");
  CHECK(by("all-gather", CollectiveOp::AllReduce).empty());
  CHECK(by("nccl", CollectiveOp::AllToAll) == "all-to-all");
  CHECK(by("nccl", CollectiveOp::Broadcast) == "nccl");
  CHECK(by("ring", CollectiveOp::AllToAll).empty());
  CHECK(by("binary-tree", CollectiveOp::Broadcast) == "broadcast");
  CHECK(by("ring", CollectiveOp::Broadcast) == "chain");
  CHECK(by("halving-doubling", CollectiveOp::Broadcast).empty());
}

// As an all-gather of M bytes everybody has M/N of them at first: (N−1)/N·M arrive. By itself M is one payload.
TEST_CASE("the payloads of all-gather") {
  const Rounds whole = rounds_of("all-gather", 8), part = rounds_of("all-gather", 8, {}, CollectiveOp::AllGather);
  CHECK(whole.piece_share == 1);
  CHECK(part.piece_share == 0.125);
}

TEST_CASE("rings and trees on two levels, in full nodes and others") {
  for (const InNodes& in_nodes : {InNodes{2, 2}, {4, 4, 4}, {4, 4, 1}, {3, 3, 3, 2}, {1, 4}, {5}, {2, 4, 4, 2}}) {
    const std::int64_t n = std::accumulate(in_nodes.begin(), in_nodes.end(), std::int64_t{0});
    for (const std::int64_t rails : {1, 2, 4}) {
      for (const char* name : {"ring", "reduce-scatter", "double-binary-tree"})
        require_works(name, n, {.chunks = 3, .in_nodes = in_nodes, .rails = rails});
      for (const char* name : {"ring", "double-binary-tree"})
        require_halves_work(name, n, {.chunks = 2, .in_nodes = in_nodes, .rails = rails});
    }
  }
  // Ring 1 enters both nodes at their second rank: 1 2 0 4 3 and back to 1.
  const Rounds ring = rounds_of("ring", 5, {.in_nodes = {3, 2}, .rails = 2});
  std::vector<Rank> next;
  for (Rank rank = 0; rank < 5; ++rank) {
    std::vector<Send> sends;
    ring.rounds.front().sends(rank, 0, sends);
    next.push_back(sends.at(1).to);
  }
  CHECK(next == std::vector<Rank>{4, 2, 0, 1, 3});
}

TEST_CASE("groups that lie in nodes differently send their own rounds") {
  // {0, 1, 2} | {3, 4, 5} on nodes of two: the first enters its second node at 2, the other at 4.
  const Rounds rounds = among_groups(
      {node_ring_rounds({2, 1}, 2, CollectiveOp::AllReduce), node_ring_rounds({1, 2}, 2, CollectiveOp::AllReduce)},
      {0, 1}, 6, 1);
  const auto next = [&](Rank rank, std::size_t ring) {
    std::vector<Send> sends;
    rounds.rounds.front().sends(rank, 0, sends);
    return sends.at(ring).to;
  };
  CHECK((next(0, 1) == 2 && next(1, 1) == 0 && next(2, 1) == 1));
  CHECK((next(3, 1) == 5 && next(4, 1) == 3 && next(5, 1) == 4));
}

TEST_CASE("repeated rounds of a collective are marked as such") {
  const Rounds ring = rounds_of("ring", 2048);
  CHECK(ring.rounds.size() == 2);
  CHECK(ring.length() == 2 * 2047);
}

TEST_CASE("numbers of workers that an algorithm cannot serve") {
  for (const char* name : {"halving-doubling", "recursive-doubling", "gtopk-tree"})
    CHECK_THROWS_AS(rounds_of(name, 6), InputError);
  CHECK_THROWS_AS(rounds_of("bml", 12, {.levels = 2}), InputError);
  CHECK_THROWS_AS(rounds_of("hierarchical", 10, {.groups = 3}), InputError);
  CHECK_THROWS_AS(rounds_of("parameter-server", 4, {.servers = 5}), InputError);
  CHECK_THROWS_AS(rounds_of("recursive-doubling", 8, {}, CollectiveOp::ReduceScatter), InputError);
}
