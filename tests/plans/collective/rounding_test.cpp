// Numbers of workers that do not divide evenly: which ranks serve, and how many rounds there are. And costs at the ends
// of a table.
#include "tests/catch.hpp"

#include "sim/plans/collective/comm_cost.hpp"
#include "sim/plans/collective/rounds.hpp"

using namespace allreplay;

namespace {

// The receivers of `from` in the round, and how many pieces each receives.
std::vector<std::pair<Rank, std::int64_t>> sends(const Round& round, Rank from) {
  std::vector<Send> out;
  round.sends(from, 0, out);
  std::vector<std::pair<Rank, std::int64_t>> all;
  for (const Send& send : out) all.emplace_back(send.to, send.count);
  return all;
}

using To = std::vector<std::pair<Rank, std::int64_t>>;

}  // namespace

TEST_CASE("a server is on the first rank of its share, rounded down") {
  const Rounds rounds = parameter_server_rounds(5, 2, CollectiveOp::AllReduce);  // at 0 and at 5/2 = 2
  REQUIRE(rounds.rounds.size() == 2);
  CHECK(sends(rounds.rounds[0], 4) == To{{0, 1}, {2, 1}});
  CHECK(sends(rounds.rounds[0], 2) == To{{0, 1}});
  CHECK(sends(rounds.rounds[1], 0) == To{{1, 1}, {2, 1}, {3, 1}, {4, 1}});
  CHECK(sends(rounds.rounds[1], 2) == To{{0, 1}, {1, 1}, {3, 1}, {4, 1}});
  for (const Rank other : {1, 3, 4}) CHECK(sends(rounds.rounds[1], other).empty());
  const Rounds three = parameter_server_rounds(7, 3, CollectiveOp::ReduceScatter);  // at 0, 7/3 = 2 and 14/3 = 4
  CHECK(sends(three.rounds[0], 1) == To{{0, 1}, {2, 1}, {4, 1}});
}

TEST_CASE("as many rounds as doublings that reach every rank") {
  // Ranks: rounds of an all-gather, of half a binomial tree, and of a double binary tree in 16 chunks.
  for (const auto& [ranks, doublings, trees] : {std::tuple{2, 1, 1 + 1 + 15},
                                                {3, 2, 1 + 1 + 15},
                                                {4, 2, 2 + 2 + 15},
                                                {5, 3, 2 + 2 + 15},
                                                {7, 3, 2 + 2 + 15},
                                                {8, 3, 3 + 3 + 15},
                                                {9, 4, 3 + 3 + 15},
                                                {16, 4, 4 + 4 + 15},
                                                {17, 5, 4 + 4 + 15}}) {
    INFO(ranks << " ranks");
    const auto count = static_cast<Rank>(ranks);
    CHECK(all_gather_rounds(count).length() == doublings);
    CHECK(binomial_rounds(count, CollectiveOp::ReduceScatter).length() == doublings);
    CHECK(binomial_rounds(count, CollectiveOp::AllGather).length() == doublings);
    CHECK(binomial_rounds(count, CollectiveOp::AllReduce).length() == 2 * doublings);
    CHECK(double_binary_tree_rounds(count, 16, CollectiveOp::AllReduce).length() == trees);
  }
}

TEST_CASE("the last round of an all-gather sends only the missing pieces") {
  const Rounds rounds = all_gather_rounds(5);  // 1 + 1 + 2 of 5 pieces are there before the last
  CHECK(sends(rounds.rounds[0], 3) == To{{2, 1}});
  CHECK(sends(rounds.rounds[1], 3) == To{{1, 2}});
  CHECK(sends(rounds.rounds[2], 3) == To{{4, 1}});
  CHECK(sends(all_gather_rounds(7).rounds[2], 0) == To{{3, 3}});
}

TEST_CASE("no extrapolated time is below zero") {
  const std::vector<CostPoint> falling{{1000, 10e-6}, {2000, 4e-6}};  // 6 us less for 1000 B more
  const CommCost cost(falling);
  CHECK(cost(2500) == to_time(1e-6));
  CHECK(cost(8000) == Time(0));
  CHECK(cost.least(8000) == Time(0));
  CHECK(cost.transfer(8000) == Time(0));
}

TEST_CASE("a measured size takes at least the measured time, to the bit") {
  // 1 + (2^22 - 1) s/B · 3 B would be rounded; at a size of the table its own time counts, and the least time per byte
  // over the sizes up to it includes its own.
  const std::vector<CostPoint> table{{1, 0.7}, {4, 0.1}, {1024, 1000.3}};
  const CommCost cost(table);
  CHECK(cost.least(4) == to_time(0.1));
  CHECK(cost.least(2) == to_time(0.5));      // between 0.7 and 0.1: 0.5, less than 2 · 0.7
  CHECK(cost.least(1024) == to_time(25.6));  // 256 times the four bytes
  CHECK(cost.least(1) == to_time(0.7));
  // At a size of the table its own time counts, too: 85.5 ps / 11 · 11 and 1533.5 ps / 13 · 13 are, in binary, just
  // below what they stand for and what lies on the line from the point before, which would be rounded up.
  CHECK(CommCost(std::vector<CostPoint>{{2, 2681e-12}, {11, 85.5e-12}}).least(11) == Time(85));
  CHECK(CommCost(std::vector<CostPoint>{{2, 4261e-12}, {13, 1533.5e-12}}).least(13) == Time(1533));
}

TEST_CASE("the halves of an all-reduce: the reduction belongs to the first, and each has half of a measured cost") {
  Network network;
  network.alpha = 10e-6;
  network.beta = 1e-9;
  network.gamma = 0.5e-9;
  const Algorithm& ring = find_algorithm("ring", {});
  const auto us = [&](CollectiveOp op) { return to_seconds(price_ops(network, ring, 8, 8, {})[op](1'000'000)) * 1e6; };
  // 7 start-ups each; 7/8 of the bytes each; 7/8 of them reduced in the first.
  CHECK(us(CollectiveOp::ReduceScatter) == Approx(70 + 875 + 437.5));
  CHECK(us(CollectiveOp::AllGather) == Approx(70 + 875));
  CHECK(us(CollectiveOp::AllReduce) == Approx(140 + 1750 + 437.5));
  network.alpha.reset();
  network.beta.reset();
  network.measured = MeasuredCost{"ring", 8, 140e-6, 2.1875e-9, 0.5e-9, {"c.json", "/network/measured"}};
  CHECK(us(CollectiveOp::AllReduce) == Approx(140 + 2187.5));
  CHECK(us(CollectiveOp::ReduceScatter) == Approx(70 + 1093.75));
  CHECK(us(CollectiveOp::AllGather) == Approx(70 + 1093.75));
}
