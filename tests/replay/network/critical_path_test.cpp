// The longest path through a collective's messages: examples by hand, comparison with a walk over every message, and
// laws.
#include "sim/replay/network/critical_path.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/inputs/cluster/topologies.hpp"
#include "tests/replay/network/naive_fluid.hpp"
#include "tests/replay/network/networks.hpp"

#include "sim/base/core/random.hpp"
#include "sim/replay/network/round_load.hpp"

using namespace allreplay;

namespace {

std::unique_ptr<Topology> network(const std::string& text, std::int64_t workers) {
  return make_topology(spec_of(text), workers);
}

Rounds rounds_of_all(const char* name, std::int64_t ranks, const CollectiveOptions& options = {}) {
  return rounds_of(find_algorithm(name, {}), ranks, options, CollectiveOp::AllReduce, {"test", ""});
}

// Alone, in seconds, without reductions.
double time_of(const Rounds& rounds, const Topology& topology, double alpha, double bytes,
               const LevelAlpha& levels = {}) {
  Shapes shapes;
  return RoundLoads(rounds, topology, shapes, levels).pace(alpha, bytes).seconds;
}

}  // namespace

TEST_CASE("a ring's longest path by hand") {
  // Four hosts of two leaves; hops cost 7, 9, 7, 9 us: a path of six rounds has three of each, 48 us; bytes take 6 ×
  // 250 B = 1.2 us. Lockstep would say 6 × 9 + 1.2.
  const auto leaves = leaf_spine(2, 2, 2, 1, link(1e-6, 1.25e9));
  CHECK(time_of(rounds_of_all("ring", 4), *leaves, 5e-6, 1000) == Approx(49.2e-6));
  // A slow link passes six slices of 25 MB at 125 MB/s, 0.2 s each, and all else waits for it.
  const auto slow = network(R"({"kind": "star", "link": {"latency": "0 s", "bandwidth": "1.25 GB/s"},
                                "links": [{"between": ["h0", "s0"], "bandwidth": "0.125 GB/s"}]})",
                            4);
  CHECK(time_of(rounds_of_all("ring", 4), *slow, 0, 1e8) == Approx(1.2));
  // Nodes of two GPUs: hops of (1 + 10), (5 + 40), (1 + 10), (5 + 40) us. Round and round: 3 × 11 + 3 × 45 = 168;
  // waiting at an outer hop: 5 + 6 × 40 = 245. Lockstep: 6 × 45 = 270.
  const auto rails =
      network(R"({"kind": "rail", "link": {"latency": "0 s", "bandwidth": "25 GB/s"}, "rails": 1, "gpus_per_host": 2,
                                 "inner": {"latency": "0 s", "bandwidth": "100 GB/s"}})",
              4);
  const Rounds ring = node_ring_rounds({2, 2}, 1, CollectiveOp::AllReduce);
  CHECK(time_of(ring, *rails, 1e-6, 4e6, {2, 0, 4e-6}) == Approx(245e-6));
  // At 1 kB start-ups are all: 3 × 1 + 3 × 5 us, and the bytes of three hops of each kind.
  CHECK(time_of(ring, *rails, 1e-6, 1000, {2, 0, 4e-6}) == Approx(18e-6 + 3 * 250 / 1e11 + 3 * 250 / 2.5e10));
}

TEST_CASE("with equal links and sizes, rounds stay in lockstep to the bit") {
  for (const char* name : {"ring", "double-binary-tree", "halving-doubling", "recursive-doubling", "binary-tree",
                           "parameter-server", "hierarchical", "bml", "all-gather", "gtopk-tree", "broadcast"})
    for (const std::int64_t ranks : {2, 3, 4, 8, 12, 16}) {
      const CollectiveOptions options{.groups = ranks % 4 == 0 ? 4 : 1};
      Rounds rounds;
      try {
        rounds = rounds_of_all(name, ranks, options);
      } catch (const InputError&) {
        continue;
      }
      const auto hosts = star(ranks, link(1.3e-6, 1.25e9));
      INFO(name << " among " << ranks);
      Shapes shapes;
      const RoundLoads loads(rounds, *hosts, shapes);
      CHECK_FALSE(loads.path.saves(5e-6));
      for (const double bytes : {1.0, 1e4, 1e8})
        CHECK(loads.pace(5e-6, bytes).seconds == loads.start_up(5e-6) + loads.per_byte(0) * bytes);
    }
}

TEST_CASE("parameter servers stay in lockstep on any network, in groups, too") {
  const auto leaves = leaf_spine(4, 4, 2, 2, link(1e-6, 1.25e9));
  for (const std::int64_t servers : {2, 3, 16}) {
    Shapes shapes;
    CHECK_FALSE(RoundLoads(rounds_of_all("parameter-server", 16, {.servers = servers}), *leaves, shapes).path.saves(0));
  }
  Shapes shapes;
  const Rounds groups = among_groups(parameter_server_rounds(4, 4, CollectiveOp::AllReduce), 16, 2);
  CHECK_FALSE(RoundLoads(groups, *leaves, shapes).path.saves(0));
}

namespace {

// Up to two slow links, hosts of several GPUs, oversubscription.
std::string random_network(Random& random, std::int64_t& workers) {
  const auto slow = [&](const std::string& switch_name) {
    std::string links;
    for (std::uint64_t i = random.below(3); i > 0; --i)
      links += (links.empty() ? "" : ", ") + std::string(R"({"between": ["h)") + std::to_string(2 * i) + R"(", ")" +
               switch_name + R"("], "bandwidth": ")" + std::to_string(1 + random.below(9)) + R"(e8 B/s"})";
    return links.empty() ? links : R"(, "links": [)" + links + "]";
  };
  const std::string link = R"("link": {"latency": "1 us", "bandwidth": "1 GB/s"})";
  workers = 8;
  switch (random.below(5)) {
    case 0:
      return R"({"kind": "star", )" + link + slow("s0") + "}";
    case 1:
      return R"({"kind": "fat-tree", "ports": 4, "oversubscription": )" + std::to_string(1 + random.below(4)) + ", " +
             link + "}";
    case 2:
      return R"({"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 2, "oversubscription": )" +
             std::to_string(1 + random.below(3)) + ", " + link + "}";
    case 3:
      return R"({"kind": "torus", "dimensions": [2, 4], )" + link + "}";
    default:
      workers = 12;
      return R"({"kind": "star", "gpus_per_host": 4, "inner": {"latency": "0.1 us", "bandwidth": "3 GB/s"}, )" + link +
             "}";
  }
}

}  // namespace

TEST_CASE("against every message walked, and between its bounds") {
  Random random(7, 7);
  int unlike_lockstep = 0;
  for (int times = 0; times < 60; ++times) {
    std::int64_t workers = 0;
    const std::string text = random_network(random, workers);
    const auto topology = network(text, workers);
    const auto ranks = static_cast<Rank>(workers);
    const double alpha = std::array{0.0, 1e-6, 20e-6}[random.below(3)];
    std::vector<std::pair<std::string, Rounds>> collectives;
    for (const char* name : {"ring", "hierarchical", "halving-doubling", "binary-tree", "double-binary-tree",
                             "parameter-server", "recursive-doubling", "all-gather", "bml"})
      if (workers == 8 || (std::string(name) != "halving-doubling" && std::string(name) != "recursive-doubling"))
        collectives.emplace_back(name, rounds_of_all(name, workers, {.servers = 3, .chunks = 3, .groups = 2}));
    const Rank node = ranks / (ranks == 12 ? 3 : 4);
    collectives.emplace_back("rings of nodes",
                             node_ring_rounds(InNodes(ranks / node, node), 2, CollectiveOp::AllReduce));
    collectives.emplace_back("trees of nodes",
                             node_tree_rounds(InNodes(ranks / node, node), 1, 3, CollectiveOp::AllReduce));
    collectives.emplace_back("rings of groups", among_groups(ring_rounds(4, 1, CollectiveOp::AllReduce), ranks, 1));
    Rounds again = ring_rounds(ranks, 1, CollectiveOp::AllReduce);  // more turns than ranks
    for (Round& round : again.rounds) round.repeat = 3 * workers + 1;
    collectives.emplace_back("ring round and round", again);
    for (const auto& [name, rounds] : collectives) {
      NaiveFluid naive({rounds}, *topology, alpha, 0);
      Shapes shapes;
      const RoundLoads loads(rounds, *topology, shapes);
      double before = 0, size_before = 0, slope = 0;
      for (const double bytes : {1.0, 3e3, 1e4, 1e5, 1.1e5, 1e6, 1e7, 1e9}) {
        INFO(name << " on " << text << ", alpha " << alpha << ", " << bytes << " B");
        const double time = loads.pace(alpha, bytes).seconds;
        const double lockstep = loads.start_up(alpha) + loads.per_byte(0) * bytes;
        CHECK(time * 1e12 == Approx(naive.alone(0, bytes)).epsilon(1e-11));
        CHECK(time <= lockstep);
        CHECK(time >= loads.busiest * bytes);
        CHECK(time >= static_cast<double>(loads.length) * (alpha + loads.least_latency) * (1 - 1e-12));
        CHECK(time >= before);
        CHECK((time - before) / (bytes - size_before) >= slope * (1 - 1e-9));  // convex
        slope = size_before == 0 ? 0 : (time - before) / (bytes - size_before);
        before = time;
        size_before = bytes;
        unlike_lockstep += time < lockstep * (1 - 1e-6) ? 1 : 0;
      }
    }
  }
  CHECK(unlike_lockstep > 1000);
}

TEST_CASE("the result for one size does not depend on others") {
  const auto tree = fat_tree(4, 16, link(1e-6, 1.25e9));
  Shapes shapes;
  for (const char* name : {"ring", "double-binary-tree", "binary-tree"}) {
    const RoundLoads one(rounds_of_all(name, 16), *tree, shapes), other(rounds_of_all(name, 16), *tree, shapes);
    std::vector<double> sizes;
    Random random(3, 3);
    for (int i = 0; i < 300; ++i) sizes.push_back(std::exp2(30 * random.uniform()));
    std::vector<double> forwards, backwards;
    for (const double bytes : sizes) forwards.push_back(one.pace(5e-6, bytes).seconds);
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) backwards.push_back(other.pace(5e-6, *size).seconds);
    std::reverse(backwards.begin(), backwards.end());
    CHECK(forwards == backwards);
  }
}

// Nobody shares a link with it: what `message` says is then the longest path, too.
TEST_CASE("a ring with links of its own takes the same time in fluid and message") {
  for (const std::string& text :
       {std::string(R"({"kind": "fat-tree", "ports": 4, "link": {"latency": "1 us", "bandwidth": "1.25 GB/s"}})"),
        std::string(R"({"kind": "leaf-spine", "leaves": 4, "hosts_per_leaf": 4, "spines": 2,
                        "link": {"latency": "1 us", "bandwidth": "1.25 GB/s"}})"),
        std::string(R"({"kind": "star", "link": {"latency": "1 us", "bandwidth": "1.25 GB/s"},
                        "links": [{"between": ["h3", "s0"], "bandwidth": "0.2 GB/s"},
                                  {"between": ["h9", "s0"], "bandwidth": "0.9 GB/s", "latency": "30 us"}]})")})
    for (const Bytes bytes : {Bytes{160'000}, Bytes{16'000'000}, Bytes{1'600'000'000}}) {
      const auto topology = network(text, 16);
      const auto alone = [&](Fidelity fidelity) {
        return to_seconds(lay_on(setup("ring", 16, fidelity, 5e-6), *topology)->alone(bytes));
      };
      INFO(text << ", " << bytes << " B");
      // 30 rounds, each rounded to a picosecond.
      CHECK(std::abs(alone(Fidelity::Fluid) - alone(Fidelity::Message)) <= 1e-9 * alone(Fidelity::Message) + 30e-12);
    }
}

// The worked figure: Fat-Tree of 16-port switches, 1 MB, 10 Gbit/s, alpha 5 us, links 1 us.
TEST_CASE("a ring of 512 on a Fat-Tree") {
  const auto tree = fat_tree(16, 512, link(1e-6, 1.25e9));
  CHECK(time_of(rounds_of_all("ring", 512), *tree, 5e-6, 1e6) == Approx(9.039e-3).margin(0.5e-6));
}
