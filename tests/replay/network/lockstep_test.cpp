// Sums and maxima against every message simulated.
#include "sim/replay/network/lockstep.hpp"

#include <array>

#include "tests/inputs/cluster/topologies.hpp"
#include "tests/replay/network/meetings.hpp"
#include "tests/replay/network/networks.hpp"

#include "sim/base/core/random.hpp"

namespace {

// Both ways to the same time and the same count of messages. Whether it went in lockstep.
bool check_alone(const std::string& collective, std::int64_t workers, const Topology& topology, double gamma,
                 Bytes bytes, CollectiveOp op = CollectiveOp::AllReduce) {
  NetworkSetup one = setup(collective, workers, Fidelity::Message, 45.25e-6, gamma);
  one.calls.front().op = op;
  NetworkSetup other = one;
  other.reuse = false;
  const auto priced = lay_on(one, topology), simulated = lay_on(other, topology);
  INFO(collective << " among " << workers << ", " << bytes << " B, gamma " << gamma);
  CHECK(priced->alone(bytes, op) == simulated->alone(bytes, op));
  CHECK(priced->pricing_events() == simulated->pricing_events());
  const RoutedRounds rounds(priced->rounds_laid(priced->id_of(op), topology.group_size()), topology, 45.25e-6);
  return lockstep(rounds, topology.links(), gamma * 1e12, static_cast<double>(bytes)).has_value();
}

std::unique_ptr<Topology> on_links(const std::string& kind, const std::string& rest, std::int64_t workers) {
  return make_topology(
      spec_of(R"({"kind": ")" + kind + R"(", "link": {"latency": "1.3 us", "bandwidth": "1.25 GB/s"})" + rest + "}"),
      workers);
}

}  // namespace

TEST_CASE("a ring by additions takes as long as every message simulated") {
  const Bytes sizes[] = {1, 1000, 65'537, 100'000'001};
  for (const Bytes bytes : sizes)
    for (const double gamma : {0.0, 0.037e-9, 2.1e-9})
      for (const CollectiveOp op : {CollectiveOp::AllReduce, CollectiveOp::ReduceScatter, CollectiveOp::AllGather}) {
        for (const std::int64_t n : {2, 3, 16, 33})
          CHECK(check_alone("ring", n, *on_links("star", "", n), gamma, bytes, op));
        CHECK(check_alone("ring", 13, *on_links("ring", "", 13), gamma, bytes, op));
        // Routes of 2, 4 and 6 links.
        CHECK(check_alone("ring", 16, *on_links("fat-tree", R"(, "ports": 4)", 16), gamma, bytes, op));
        CHECK(check_alone("ring", 16, *on_links("bcube", R"(, "n": 4, "k": 2)", 16), gamma, bytes, op));
        const std::string fabric = R"(, "leaves": 3, "hosts_per_leaf": 4, "spines": 2)";
        CHECK(check_alone("ring", 12, *on_links("leaf-spine", fabric, 12), gamma, bytes, op));
        // Edges carry several flows up where links are shared out, and around a torus ranks go the same way.
        check_alone("ring", 12, *on_links("fat-tree", R"(, "ports": 4, "oversubscription": 3)", 12), gamma, bytes, op);
        check_alone("ring", 20, *on_links("torus", R"(, "dimensions": [4, 5])", 20), gamma, bytes, op);
      }
}

TEST_CASE("the same for all collectives whose messages use links of their sender or their receiver only") {
  // With a link of rank 1's that takes ten times as long as the others, behind which messages wait, and without.
  const std::string slow = R"(, "links": [{"between": ["h1", "s0"], "bandwidth": "125 MB/s"}])";
  for (const Bytes bytes : {1, 1000, 65'537, 100'000'001})
    for (const double gamma : {0.0, 0.037e-9, 2.1e-9})
      for (const std::string& links : {std::string(), slow}) {
        CHECK(check_alone("ring", 9, *on_links("star", links, 9), gamma, bytes));
        CHECK(check_alone("hierarchical", 16, *on_links("star", links, 16), gamma, bytes));
        CHECK(check_alone("halving-doubling", 16, *on_links("star", links, 16), gamma, bytes));
        CHECK(check_alone("recursive-doubling", 8, *on_links("star", links, 8), gamma, bytes));
        CHECK(check_alone("all-gather", 11, *on_links("star", links, 11), gamma, bytes));
      }
}

TEST_CASE("collectives that do not run in lockstep are simulated") {
  for (const double gamma : {0.0, 0.5e-9}) {
    CHECK_FALSE(check_alone("parameter-server", 5, *on_links("star", "", 5), gamma, 1'000'000));
    CHECK_FALSE(check_alone("double-binary-tree", 9, *on_links("star", "", 9), gamma, 1'000'000));
    // Around a ring of hosts messages of different ranks meet.
    CHECK_FALSE(check_alone("halving-doubling", 16, *on_links("ring", "", 16), gamma, 1'000'000));
  }
}

TEST_CASE("a ring with per-rank starts, with and without other traffic") {
  Random random(5, 5);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t n = 2 + static_cast<std::int64_t>(random.below(12));
    const std::string slow = R"(, "links": [{"between": ["h1", "s0"], "bandwidth": "20 MB/s"}])";
    const auto topology = on_links("star", random.below(2) == 0 ? slow : "", n);
    // Reductions that take no time, less than bytes do, and more.
    const double gamma = std::array{0.0, 0.5e-9, 5e-9}[random.below(3)];
    NetworkSetup one = setup("ring", n, Fidelity::Message, 45.25e-6, gamma);
    NetworkSetup other = one;
    other.reuse = false;
    const auto priced = lay_on(one, *topology), simulated = lay_on(other, *topology);
    Parties parties(1 + random.below(static_cast<std::uint64_t>(n)));
    for (Rank rank = 0; rank < n; ++rank)
      parties[rank < parties.size() ? rank : random.below(parties.size())].push_back(rank);
    std::vector<Meeting> meetings(1 + random.below(4));
    for (Meeting& meeting : meetings) {
      meeting.bytes = static_cast<std::int64_t>(random.below(3'000'000));
      const std::int64_t earliest = static_cast<std::int64_t>(random.below(40'000'000'000));
      // Start times that differ by up to a microsecond, a millisecond, ten; and some together.
      const std::uint64_t within =
          std::array<std::uint64_t, 3>{1'000'000, 1'000'000'000, 10'000'000'000}[random.below(3)];
      for (std::size_t party = 0; party < parties.size(); ++party)
        meeting.parties.push_back(
            Time(earliest + (random.below(4) == 0 ? 0 : static_cast<std::int64_t>(random.below(within)))));
    }
    INFO("case " << round << ": " << n << " ranks in " << parties.size() << " parties, " << meetings.size()
                 << " rings");
    const auto fast = priced->server_per_rank(parties), slow_one = simulated->server_per_rank(parties);
    CHECK(ends_of(*fast, meetings) == ends_of(*slow_one, meetings));
    if (meetings.size() == 1) CHECK(fast->events() == slow_one->events());
  }
}
