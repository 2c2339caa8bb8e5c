// Messages that share links: examples by hand, and comparison with a second simulator.
#include "sim/replay/network/message.hpp"

#include <cmath>
#include <set>

#include "tests/catch.hpp"
#include "tests/replay/network/naive_message.hpp"
#include "tests/replay/network/networks.hpp"

#include "sim/base/core/random.hpp"
#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/replay/engine/replay.hpp"
#include "sim/replay/network/fluid.hpp"

using namespace allreplay;

namespace {

struct Arrow {
  Rank from, to;
  std::int64_t pieces;
  bool reduce = false;
};

// Rounds of given messages; a piece is a byte of a block of as many bytes as there are pieces.
Rounds arrows(Rank ranks, std::int64_t pieces, const std::vector<std::vector<Arrow>>& rounds) {
  Rounds result{.ranks = ranks, .pieces = pieces, .piece_share = 1.0 / static_cast<double>(pieces)};
  for (const std::vector<Arrow>& round : rounds)
    result.rounds.push_back({1, [round](Rank from, std::int64_t, std::vector<Send>& out) {
                               for (const Arrow& arrow : round)
                                 if (arrow.from == from)
                                   out.push_back({.to = arrow.to, .count = arrow.pieces, .reduce = arrow.reduce});
                             }});
  return result;
}

struct Block {
  std::int64_t bytes;
  Time at;
  CallId call = 0;
};

// When each block ends that starts at its time.
std::vector<Time> ends(Server& server, const std::vector<Block>& blocks) {
  std::vector<Time> result(blocks.size(), never);
  std::size_t started = 0;
  std::vector<TaskId> done;
  for (;;) {
    const Time start = started < blocks.size() ? blocks[started].at : never;
    const Time now = std::min(start, server.next_completion());
    if (now == never) return result;
    while (server.next_completion() == now) {
      done.clear();
      server.complete(now, done);
      for (const TaskId id : done) result[id] = now;
    }
    for (; started < blocks.size() && blocks[started].at == now; ++started)
      server.start(static_cast<TaskId>(started), {.bytes = blocks[started].bytes, .call_id = blocks[started].call},
                   now);
  }
}

Time end_of(const Rounds& rounds, const Topology& topology, double alpha = 0, double gamma = 0) {
  MessageNetwork network({std::make_shared<RoutedRounds>(rounds, topology, alpha)}, topology.links(), gamma);
  return ends(network, {{rounds.pieces, Time(0)}})[0];
}

constexpr double ps = 1e-12;

// The link of a host on a star.
LinkChange slow(const std::string& host, double bandwidth) {
  return {.a = host, .b = "s0", .latency = {}, .bandwidth = bandwidth};
}

}  // namespace

TEST_CASE("contended cases by hand") {
  const auto hosts = star(4, link(0, 1e12));  // a byte per picosecond
  // Both at 1/2 into host 2 until the shorter arrives at 100; the other's last 50 at full speed.
  CHECK(end_of(arrows(4, 150, {{{0, 2, 100}, {1, 2, 50}}}), *hosts) == Time(150));
  // Out of host 0 at 1/3 each; 30 arrive at 90, then 30 left of 60 at 1/2: at 150; then 30 left of 90: at 180.
  CHECK(end_of(arrows(4, 180, {{{0, 1, 30}, {0, 2, 60}, {0, 3, 90}}}), *hosts) == Time(180));
  // 0 → 2 and 0 → 3 share a way out, 1 → 3 shares a way in with the latter: 1/2 each. 0 → 3 arrives at 40. Then 0 → 2
  // and 1 → 3 share nothing: 100 − 20 = 80 left, arrives at 120; 60 − 20 = 40 left, arrives at 80.
  CHECK(end_of(arrows(4, 180, {{{0, 2, 100}, {0, 3, 20}, {1, 3, 60}}}), *hosts) == Time(120));
  // Full duplex: an exchange takes as long as one way.
  CHECK(end_of(arrows(2, 200, {{{0, 1, 100}, {1, 0, 100}}}), *star(2, link(0, 1e12))) == Time(100));
}

TEST_CASE("start-ups overlap, reductions do not") {
  const auto hosts = star(4, link(3 * ps, 1e12));
  // α = 10 and two links of 3: both messages move from 16 on, at 1/2 into host 2, and arrive at 216.
  CHECK(end_of(arrows(4, 200, {{{0, 2, 100}, {1, 2, 100}}}), *hosts, 10 * ps) == Time(216));
  // Each is then reduced for 0.5·100, one after the other.
  CHECK(end_of(arrows(4, 200, {{{0, 2, 100, true}, {1, 2, 100, true}}}), *hosts, 10 * ps, 0.5 * ps) == Time(316));
  // A shorter one that arrives at 116 is reduced, 116 … 141, while the other's 50 left move at full speed: it arrives
  // at 166, is reduced until 216.
  CHECK(end_of(arrows(4, 200, {{{0, 2, 100, true}, {1, 2, 50, true}}}), *hosts, 10 * ps, 0.5 * ps) == Time(216));
}

TEST_CASE("a send waits for its data, and for earlier rounds only at its two ends") {
  const auto hosts = star(4, link(0, 1e12));
  // 0 → 1 → 2 while 0 → 3 of the first round is still in flight: from 20 on (at 1/2 each) 0 → 3 has its links for
  // itself with 90 left, until 110; 1 → 2 starts at 20 and arrives at 30.
  CHECK(end_of(arrows(4, 110, {{{0, 1, 10}, {0, 3, 100}}, {{1, 2, 10}}}), *hosts) == Time(110));
  // Sends in order: rank 0 has all data of the second round, but two messages share its way out until 20, and the third
  // has it for itself until 30. So 0 → 2 of 30 arrives at 40 and 2 → 1 at 90, before 0 → 3 at 100; if all three shared
  // the way out, 0 → 2 would arrive at 70, and 2 → 1 at 120.
  CHECK(end_of(arrows(4, 60, {{{0, 1, 10}, {0, 2, 10}}, {{0, 3, 10}}}), *hosts) == Time(30));
  CHECK(end_of(arrows(4, 150, {{{0, 1, 10}, {0, 2, 30}}, {{0, 3, 60}}, {{2, 1, 50}}}), *hosts) == Time(100));
  // Receives in order: 2 → 1 of the second round waits until 0 → 1 has arrived, at 100, though rank 2's way out is
  // idle; and 2 → 3 of the third after it, until 120.
  CHECK(end_of(arrows(4, 100, {{{0, 1, 100}}, {{2, 1, 10}}}), *hosts) == Time(110));
  CHECK(end_of(arrows(4, 100, {{{0, 1, 100}}, {{2, 1, 10}}, {{2, 3, 10}}}), *hosts) == Time(120));
  // Start-ups pass meanwhile: all are over at 40. Then one after another.
  CHECK(end_of(arrows(4, 100, {{{0, 1, 100}}, {{2, 1, 10}}}), *hosts, 40 * ps) == Time(150));
  // Arrivals count, not the ends of reductions: 0 → 1 until 100, reduced until 200; 2 → 1 until 110, until 210.
  CHECK(end_of(arrows(4, 100, {{{0, 1, 100, true}}, {{2, 1, 10, true}}}), *hosts, 0, ps) == Time(210));
}

// Worked by hand from the rules only.
TEST_CASE("a slow link passes slice after slice") {
  // A ring of 4 in slices of 25 MB, whose link at rank 0 carries 125 MB/s and the others ten times that: six slices
  // pass it, 0.2 s each, and all else waits for it. Halving-doubling: 50, 25, 25, 50 MB pass it each way, 0.4 + 0.2 +
  // 0.2 + 0.4 s: rank 2 has what it sends to rank 0 in the second round early, and its bytes wait until those of the
  // first have come.
  TopologySpec spec{.kind = TopologyKind::Star, .link = link(0, 1.25e9)};
  spec.changes = {slow("h0", 0.125e9)};
  const auto hosts = make_topology(spec, 4);
  for (const char* name : {"ring", "halving-doubling"})
    CHECK(to_seconds(lay_on(setup(name, 4, Fidelity::Message), *hosts)->alone(100'000'000)) == Approx(1.2));
}

TEST_CASE("a binomial tree's root takes one round after another") {
  // Three ranks, 1 ms of bytes, alpha 10 us: 1 and 2 start up together; 1's bytes are there at 1.01 ms, 2's, of a later
  // round, behind them at 2.01; down on one channel, 3.02, then 4.03.
  const auto hosts = star(3, link(0, 1.25e9));
  CHECK(to_seconds(lay_on(setup("binary-tree", 3, Fidelity::Message, 10e-6), *hosts)->alone(1'250'000)) ==
        Approx(4.03e-3));
}

// The effect of each of the two rules: one link of 16 on a star at half speed, 100 MB.
TEST_CASE("without order, a stream's messages share a slow link with each other") {
  struct Row {
    const char* name;
    double nothing, out;  // times over those with both rules, as docs/network.md has them
  };
  for (const auto& [name, nothing, out] :
       {Row{"ring", 1.24, 1.00}, Row{"halving-doubling", 1.61, 1.37}, Row{"hierarchical", 1.60, 1.13}}) {
    const CollectiveOptions options{.groups = 4};
    const Rounds rounds = rounds_of(find_algorithm(name, {}), 16, options, CollectiveOp::AllReduce, {"test", ""});
    TopologySpec spec{.kind = TopologyKind::Star, .link = link(1e-6, 1.25e9)};
    spec.changes = {slow("h0", 0.625e9)};
    const auto hosts = make_topology(spec, 16);
    const auto time = [&](InOrder in_order) {
      NaiveNetwork network(*hosts, 5e-6, 0);
      network.start(rounds, 1e8, 0, in_order);
      return network.run()[0];
    };
    INFO(name);
    CHECK(time(InOrder::Nothing) / time(InOrder::OutAndIn) == Approx(nothing).margin(0.006));
    CHECK(time(InOrder::Out) / time(InOrder::OutAndIn) == Approx(out).margin(0.006));
  }
}

// From a to b by p at 1 B/ps, or by q at half that, whose links take 5 ps each. Of 200 bytes in two parts each takes
// one way: 100 bytes at 1 until 100, and 100 at 1/2 from 10 on until 210. Only then is the message there: its 200 bytes
// are reduced until 410, and what waits for the channel, or for the round, starts up.
TEST_CASE("a message in parts arrives with its last part") {
  const auto graph = [](std::uint64_t seed) {
    TopologySpec spec{.kind = TopologyKind::Graph};
    spec.hosts = {"a", "b"};
    spec.switches = {"p", "q"};
    const LinkSpec fast = link(0, 1e12), slow = link(5 * ps, 0.5e12);
    // Latencies count in whole picoseconds, and these are as short: 0 + 10 and 5 + 5.
    spec.graph_links = {{0, 2, fast}, {2, 1, link(10 * ps, 1e12)}, {0, 3, slow}, {3, 1, slow}};
    spec.routing = {.kind = Routing::Kind::Ecmp, .flows = 2, .seed = seed};
    return make_topology(spec, 2);
  };
  const auto ways = [&](std::uint64_t seed) {
    std::set<LinkId> first;
    for (const std::uint32_t part : {0, 1}) {
      std::vector<LinkId> path;
      graph(seed)->route_part(0, 1, 0, part, path);
      first.insert(path.front());
    }
    return first;
  };
  std::uint64_t both = 1;
  while (ways(both).size() < 2) ++both;
  const auto hosts = graph(both);
  CHECK(end_of(arrows(2, 200, {{{0, 1, 200}}}), *hosts) == Time(210));
  CHECK(end_of(arrows(2, 200, {{{0, 1, 200, true}}}), *hosts, 0, ps) == Time(410));
  // The next round's bytes leave behind all of this one's.
  CHECK(end_of(arrows(2, 200, {{{0, 1, 200}}, {{0, 1, 200}}}), *hosts) == Time(410));
  std::uint64_t one = 1;
  while (ways(one) != std::set<LinkId>{4}) ++one;
  CHECK(end_of(arrows(2, 200, {{{0, 1, 200}}}), *graph(one)) == Time(410));  // both by q: 10 + 400
}

TEST_CASE("against the naive simulator") {
  struct Network {
    std::string name;
    std::unique_ptr<Topology> topology;
    std::int64_t workers;
  };
  std::vector<Network> networks;
  const LinkSpec links = link(0.7e-9, 1e11);
  networks.push_back({"star", star(8, links), 8});
  networks.push_back({"fat-tree", fat_tree(4, 8, links), 8});
  networks.push_back({"bcube", bcube(3, 2, 9, links), 9});
  networks.push_back({"bcube", bcube(2, 3, 8, links), 8});
  networks.push_back({"ring", make_topology({.kind = TopologyKind::Ring, .link = links}, 7), 7});
  networks.push_back(
      {"torus", make_topology({.kind = TopologyKind::Torus, .link = links, .dimensions = {2, 4}}, 8), 8});
  TopologySpec uneven{.kind = TopologyKind::Star, .link = links};
  uneven.changes = {slow("h2", 3e10), slow("h5", 7e10)};
  networks.push_back({"star with slow links", make_topology(uneven, 8), 8});
  // Uplinks of other speeds than the hosts': equal ones have messages arrive together, and rounding then decides which
  // of them is reduced first.
  networks.push_back({"leaf-spine", leaf_spine(2, 4, 3, 1.7, links), 8});
  std::uint64_t seed = 0;
  for (const Network& network : networks)
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.in_switches) continue;  // no messages between ranks
      // Their times on a star are in fidelities_test.cpp; here each row moves the numbers that are drawn for the next.
      if (algorithm.name == "pat" || algorithm.name == "all-to-all" || algorithm.name == "chain") continue;
      CollectiveOptions options{.servers = 3, .chunks = 3};
      if (network.name == "bcube") options.levels = network.workers == 9 ? 2 : 3;
      if (network.workers % 2 == 0) options.groups = 2;
      Rounds rounds;
      try {
        rounds = rounds_of(algorithm, network.workers, options, CollectiveOp::AllReduce, {"test", ""});
      } catch (const InputError&) {
        continue;
      }
      for (const std::size_t count : {1, 3}) {
        INFO(algorithm.name << " on " << network.name << " of " << network.workers << ", " << count
                            << " together, seed " << seed);
        Random random(seed++, 0);
        std::vector<Block> blocks;
        Time at{0};
        for (std::size_t i = 0; i < count; ++i) {
          blocks.push_back({static_cast<std::int64_t>(1 + random.below(200'000)), at});
          at += Time(static_cast<std::int64_t>(random.below(2'000'000)));
        }
        const double alpha = 1.9e-9, gamma = seed % 2 == 0 ? 0 : 1.7e-12;
        NaiveNetwork naive(*network.topology, alpha, gamma);
        for (const Block& block : blocks)
          naive.start(rounds, static_cast<double>(block.bytes), static_cast<double>(block.at.count()));
        const std::vector<double> expected = naive.run();
        MessageNetwork fast({std::make_shared<RoutedRounds>(rounds, *network.topology, alpha)},
                            network.topology->links(), gamma);
        const std::vector<Time> found = ends(fast, blocks);
        // Rounding of ends, and of the order of reductions, adds up along the longest chain.
        for (std::size_t i = 0; i < count; ++i)
          CHECK(std::abs(static_cast<double>(found[i].count()) - expected[i]) <=
                2.0 * static_cast<double>(rounds.length() * static_cast<std::int64_t>(count)) + 2);
      }
    }
}

TEST_CASE("reuse changes nothing") {
  const auto tree = fat_tree(4, 16, link(1e-6, 1.25e9));
  for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Message})
    for (const char* name : {"ring", "double-binary-tree", "halving-doubling", "parameter-server"})
      for (std::uint64_t seed = 0; seed < 10; ++seed) {
        Random random(seed, 1);
        std::vector<Block> blocks;
        Time at{0};
        for (int i = 0; i < 12; ++i) {
          blocks.push_back({random.below(4) == 0 ? 0 : static_cast<std::int64_t>(random.below(1'000'000)), at});
          at += Time(static_cast<std::int64_t>(random.below(3) == 0 ? 0 : random.below(4'000'000'000)));
        }
        NetworkSetup with = setup(name, 16, fidelity, 3e-6, 1e-11), without = with;
        without.reuse = false;
        const auto model = lay_on(with, *tree), plain = lay_on(without, *tree);
        INFO(name << " seed " << seed);
        const auto reused = ends(*model->server(), blocks), simulated = ends(*plain->server(), blocks);
        CHECK(reused == simulated);
      }
}

TEST_CASE("equal collectives in flight share equally, in both fidelities") {
  // A ring among 4 with M = 4·10⁶ B at 10⁹ B/s: a round's million bytes take 1 ms unshared, 2 ms when two share;
  // start-ups are nothing. Two that start together end after 2·6 rounds; one that starts when the other has done half
  // of its rounds shares the second half: 3 + 6, then 3 unshared.
  const auto hosts = star(4, link(0, 1e9));
  for (const Fidelity fidelity : {Fidelity::Fluid, Fidelity::Message}) {
    const auto model = lay_on(setup("ring", 4, fidelity), *hosts);
    CHECK(ends(*model->server(), {{4'000'000, Time(0)}, {4'000'000, Time(0)}}) ==
          std::vector<Time>{to_time(12e-3), to_time(12e-3)});
    CHECK(ends(*model->server(), {{4'000'000, Time(0)}, {4'000'000, to_time(3e-3)}}) ==
          std::vector<Time>{to_time(9e-3), to_time(12e-3)});
  }
}

TEST_CASE("collectives on different links do not meet") {
  // Two shapes: 0 → 1 and 2 → 3 share nothing, so both run at full speed; both with 0 → 2 share host 0's way out with
  // the one.
  const auto hosts = star(4, link(0, 1e12));
  auto shapes = std::make_shared<Shapes>();
  std::vector<std::shared_ptr<const RoundLoads>> loads;
  for (const Arrow& arrow : {Arrow{0, 1, 1}, Arrow{2, 3, 1}, Arrow{0, 2, 1}})
    loads.push_back(std::make_shared<RoundLoads>(arrows(4, 1, {{arrow}}), *hosts, *shapes));
  shapes->fold();
  FluidNetwork two(loads, shapes, 0, 0);
  CHECK(ends(two, {{100, Time(0), 0}, {100, Time(0), 1}}) == std::vector<Time>{Time(100), Time(100)});
  FluidNetwork three(loads, shapes, 0, 0);
  CHECK(ends(three, {{100, Time(0), 0}, {100, Time(0), 1}, {100, Time(0), 2}}) ==
        std::vector<Time>{Time(200), Time(100), Time(200)});
}

TEST_CASE("every message is counted") {
  const auto hosts = star(8, link(0, 1e9));
  NetworkSetup each = setup("ring", 8, Fidelity::Message);
  each.reuse = false;
  const auto model = lay_on(each, *hosts);
  CHECK(model->messages() == 2 * 7 * 8);
  const auto server = model->server();
  ends(*server, {{1000, Time(0)}, {1000, Time(0)}});
  CHECK(server->events() == 2 * model->messages());
}
