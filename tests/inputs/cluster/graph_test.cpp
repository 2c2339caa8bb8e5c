#include <algorithm>
#include <set>

#include "tests/inputs/cluster/topologies.hpp"

#include "sim/base/core/random.hpp"
#include "sim/base/core/time.hpp"

namespace graph_test {

namespace {

std::string graph(std::string_view hosts, std::string_view switches, std::string_view links) {
  return R"({"kind": "graph", "link": {"latency": "1 us", "bandwidth": "1 GB/s"}, "hosts": [)" + std::string(hosts) +
         R"(], "switches": [)" + std::string(switches) + R"(], "links": [)" + std::string(links) + "]}";
}

// A random graph, mostly connected by a chain, with few different latencies so that ties abound.
TopologySpec random_graph(Random& random) {
  TopologySpec spec;
  spec.kind = TopologyKind::Graph;
  const auto hosts = 2 + random.below(8), switches = random.below(8), nodes = hosts + switches;
  for (std::uint64_t i = 0; i < hosts; ++i) spec.hosts.push_back("h" + std::to_string(i));
  for (std::uint64_t i = 0; i < switches; ++i) spec.switches.push_back("s" + std::to_string(i));
  std::set<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (std::uint64_t i = 1; i < nodes; ++i) pairs.emplace(random.below(i), i);
  for (std::uint64_t i = random.below(2 * nodes); i > 0; --i)
    if (const auto a = random.below(nodes), b = random.below(nodes); a != b) pairs.insert(std::minmax(a, b));
  for (const auto& [a, b] : pairs)
    spec.graph_links.push_back({static_cast<std::int64_t>(a),
                                static_cast<std::int64_t>(b),
                                {static_cast<double>(random.below(4)) * 0.1e-6, 1e9}});
  return spec;
}

}  // namespace

TEST_CASE("a graph takes the way of least latency, then of fewest links") {
  const auto topology = make_topology(spec_of(graph(R"("a", "b")", R"("slow", "x", "y")", R"(
      {"between": ["a", "slow"], "latency": "5 us"}, {"between": ["slow", "b"]},
      {"between": ["a", "x"]}, {"between": ["x", "y"], "bandwidth": "2 GB/s"}, {"between": ["y", "b"]},
      {"between": ["x", "b"], "latency": "2 us"})")),
                                      2);
  CHECK(topology->switches() == 3);
  CHECK(way(*topology, 0, 1) == "a x b");
  CHECK(topology->links()[6].bandwidth == 2e9);
}

TEST_CASE("equal ways are shared by destination") {
  const auto topology = make_topology(spec_of(graph(R"("a", "b", "c", "d")", R"("e0", "e1", "top0", "top1")", R"(
      {"between": ["a", "e0"]}, {"between": ["b", "e0"]}, {"between": ["c", "e1"]}, {"between": ["d", "e1"]},
      {"between": ["e0", "top0"]}, {"between": ["e0", "top1"]}, {"between": ["e1", "top0"]}, {"between": ["e1", "top1"]})")),
                                      4);
  CHECK(way(*topology, 0, 2) == "a e0 top0 e1 c");
  CHECK(way(*topology, 0, 3) == "a e0 top1 e1 d");
  CHECK(way(*topology, 1, 2) == "b e0 top0 e1 c");
  CHECK(way(*topology, 2, 1) == "c e1 top1 e0 b");
}

TEST_CASE("a link of a graph may be down") {
  const auto topology = make_topology(spec_of(graph(R"("a", "b", "c")", "", R"(
      {"between": ["a", "b"], "down": true}, {"between": ["b", "c"]}, {"between": ["c", "a"]})")),
                                      3);
  CHECK(way(*topology, 0, 1) == "a c b");
}

TEST_CASE("routes on random graphs are as short as Floyd and Warshall find") {
  Random random(20, 1);
  for (int round = 0; round < 200; ++round) {
    const TopologySpec spec = random_graph(random);
    const auto topology = make_topology(spec, 2);
    const auto nodes = static_cast<std::size_t>(topology->nodes());
    constexpr std::int64_t far = std::int64_t{1} << 50;
    // Picoseconds times 1000, plus one per link.
    std::vector<std::vector<std::int64_t>> least(nodes, std::vector<std::int64_t>(nodes, far));
    const auto length = [](const Link& link) { return to_time(link.latency).count() * 1000 + 1; };
    for (std::size_t node = 0; node < nodes; ++node) least[node][node] = 0;
    for (const Link& link : topology->links()) least[link.from][link.to] = length(link);
    for (std::size_t over = 0; over < nodes; ++over)
      for (std::size_t a = 0; a < nodes; ++a)
        for (std::size_t b = 0; b < nodes; ++b) least[a][b] = std::min(least[a][b], least[a][over] + least[over][b]);
    for (std::int64_t from = 0; from < topology->hosts(); ++from) {
      for (std::int64_t to = 0; to < topology->hosts(); ++to) {
        way(*topology, from, to);
        std::int64_t sum = 0;
        for (const LinkId link : route(*topology, from, to)) sum += length(topology->links()[link]);
        REQUIRE(sum == least[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)]);
      }
    }
  }
}

}  // namespace graph_test
