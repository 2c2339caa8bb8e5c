// Every collective, run over symbols instead of bytes: in the end all have everything, and nothing twice.
#include "sim/collective/rounds.hpp"

#include <bit>
#include <numeric>

#include "tests/catch.hpp"

#include "sim/collective/algorithm.hpp"

using namespace allreplay;

namespace {

// What each stream of each rank has of each piece: how often each rank's contribution is in it. Rounds go in lockstep,
// and a stream sends what it had before the round: if it sent what it had not yet, something would be missing.
class Contributions {
 public:
  Contributions(const Rounds& rounds, Purpose purpose) : rounds_(rounds) {
    has_.assign(rounds.ranks * rounds.streams * rounds.pieces, std::vector<int>(rounds.ranks, 0));
    for (Rank rank = 0; rank < rounds.ranks; ++rank)
      for (std::uint32_t stream = 0; stream < rounds.streams; ++stream)
        for (std::int64_t piece = 0; piece < rounds.pieces; ++piece) {
          const bool has = purpose == Purpose::AllGather   ? piece == rank
                           : purpose == Purpose::Broadcast ? rank == 0
                                                           : true;
          at(has_, rank, stream, piece)[rank] = has;
        }
  }

  void run(const Rounds& rounds) {
    for (const Round& round : rounds.rounds)
      for (std::int64_t turn = 0; turn < round.repeat; ++turn) {
        const auto before = has_;
        for (Rank from = 0; from < rounds.ranks; ++from) {
          std::vector<Send> sends;
          round.sends(from, turn, sends);
          for (const Send& send : sends) {
            REQUIRE(send.to != from);
            REQUIRE(send.to < rounds.ranks);
            for (std::int64_t i = 0; i < send.count; ++i) {
              const std::int64_t piece = (send.first + i) % rounds.pieces;
              const std::vector<int>& sent = before[index(from, send.stream, piece)];
              std::vector<int>& got = at(has_, send.to, send.into, piece);
              for (Rank rank = 0; rank < rounds.ranks; ++rank) got[rank] = (send.reduce ? got[rank] : 0) + sent[rank];
            }
          }
        }
      }
  }

  // Whether some stream of the rank has exactly this of the piece.
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

void require_complete(const Contributions& contributions, const Rounds& rounds, Purpose purpose) {
  const std::vector<int> everybody(rounds.ranks, 1);
  for (std::int64_t piece = 0; piece < rounds.pieces; ++piece) {
    std::vector<int> whole = everybody;
    if (purpose == Purpose::AllGather || purpose == Purpose::Broadcast) whole.assign(rounds.ranks, 0);
    if (purpose == Purpose::AllGather) whole[piece] = 1;
    if (purpose == Purpose::Broadcast) whole[0] = 1;
    Rank having = 0;
    for (Rank rank = 0; rank < rounds.ranks; ++rank) having += contributions.has(rank, piece, whole);
    CHECK(having == (purpose == Purpose::ReduceScatter ? 1 : rounds.ranks));
  }
}

void require_works(const std::string& name, std::int64_t workers, const CollectiveOptions& options = {}) {
  INFO(name << " among " << workers << ", servers " << options.servers << ", chunks " << options.chunks << ", groups "
            << options.groups << ", levels " << options.levels);
  const Rounds rounds = rounds_of(name, workers, options);
  const Purpose purpose = named(name).purpose;
  Contributions contributions(rounds, purpose);
  contributions.run(rounds);
  require_complete(contributions, rounds, purpose);
}

void require_halves_work(const std::string& name, std::int64_t workers, const CollectiveOptions& options = {}) {
  INFO("the halves of " << name << " among " << workers);
  const Rounds first = rounds_of(name, workers, options, CollectiveOp::ReduceScatter),
               second = rounds_of(name, workers, options, CollectiveOp::AllGather);
  REQUIRE(first.pieces == second.pieces);
  Contributions contributions(first, Purpose::AllReduce);
  contributions.run(first);
  contributions.run(second);
  require_complete(contributions, first, Purpose::AllReduce);
}

}  // namespace

TEST_CASE("every collective gives everybody every contribution exactly once") {
  for (const Algorithm& one : algorithms())
    for (const std::int64_t n : {2, 3, 4, 5, 7, 8, 12, 16, 32})
      if (one.rounds && (one.workers != "power of 2" || std::has_single_bit(static_cast<std::uint64_t>(n))))
        require_works(std::string(one.name), n);
  for (const std::int64_t n : {2, 3, 4, 5, 7, 8, 12, 16}) {
    for (const std::int64_t chunks : {1, 2, 5, 16}) require_works("double-binary-tree", n, {.chunks = chunks});
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

TEST_CASE("a collective that repeats a round says so") {
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
