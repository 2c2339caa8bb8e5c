// The path that messages take if there are several.
#include <algorithm>
#include <map>
#include <set>

#include "tests/error_place.hpp"
#include "tests/inputs/cluster/topologies.hpp"

namespace {

std::string names_of(const Topology& topology, NodeId from, const std::vector<LinkId>& path) {
  std::string names = topology.name(from);
  for (const LinkId link : path) names += " " + topology.name(topology.links()[link].to);
  return names;
}

std::vector<std::string> ways(const Topology& topology, NodeId from, NodeId to) {
  std::vector<std::string> all;
  for (std::uint64_t number = 0; number < topology.way_count(from, to); ++number) {
    std::vector<LinkId> path;
    topology.way(from, to, number, path);
    all.push_back(names_of(topology, from, path));
  }
  return all;
}

std::map<std::string, double> shares(const Topology& topology, NodeId from, NodeId to, std::uint32_t stream = 0) {
  std::vector<LinkShare> links;
  topology.shares(from, to, stream, 0, links);
  std::map<std::string, double> by_name;
  for (const auto& [link, share] : links)
    by_name[topology.name(topology.links()[link].from) + ">" + topology.name(topology.links()[link].to)] += share;
  return by_name;
}

constexpr std::string_view mesh = R"({"kind": "graph", "hosts": ["a", "b", "c"], "switches": ["p", "q", "r", "s"],
  "link": {"latency": "1 us", "bandwidth": "1 GB/s"}, "routing": "adaptive",
  "links": [{"between": ["a", "q"]}, {"between": ["a", "p"]}, {"between": ["p", "r"]}, {"between": ["q", "r"]},
            {"between": ["q", "s"]}, {"between": ["r", "b"]}, {"between": ["s", "b"]}, {"between": ["r", "c"]}]})";

}  // namespace

TEST_CASE("ways are numbered: by spine; by aggregation, then core; by links as listed") {
  const auto leaf_spine = build("leaf-spine", 4, R"("leaves": 2, "hosts_per_leaf": 2, "spines": 3)");
  CHECK(ways(*leaf_spine, 0, 2) ==
        std::vector<std::string>{"h0 leaf0 spine0 leaf1 h2", "h0 leaf0 spine1 leaf1 h2", "h0 leaf0 spine2 leaf1 h2"});
  CHECK(ways(*leaf_spine, 0, 1) == std::vector<std::string>{"h0 leaf0 h1"});
  const auto tree = build("fat-tree", 16, R"("ports": 4)");
  CHECK(ways(*tree, 0, 2) == std::vector<std::string>{"h0 edge0 agg0 edge1 h2", "h0 edge0 agg1 edge1 h2"});
  CHECK(ways(*tree, 0, 4) ==
        std::vector<std::string>{"h0 edge0 agg0 core0 agg2 edge2 h4", "h0 edge0 agg0 core1 agg2 edge2 h4",
                                 "h0 edge0 agg1 core2 agg3 edge2 h4", "h0 edge0 agg1 core3 agg3 edge2 h4"});
  // a's links: q first, then p; q's: r, then s.
  CHECK(ways(*make_topology(spec_of(mesh), 2), 0, 1) == std::vector<std::string>{"a q r b", "a q s b", "a p r b"});
  CHECK(ways(*make_topology(spec_of(mesh), 3), 0, 2) == std::vector<std::string>{"a q r c", "a p r c"});
}

TEST_CASE("adaptive routing spreads a message evenly over its ways") {
  // Three ways from a to b, two by q and two by r.
  const auto graph = make_topology(spec_of(mesh), 2);
  CHECK(shares(*graph, 0, 1) == std::map<std::string, double>{{"a>q", 2.0 / 3},
                                                              {"a>p", 1.0 / 3},
                                                              {"q>r", 1.0 / 3},
                                                              {"q>s", 1.0 / 3},
                                                              {"p>r", 1.0 / 3},
                                                              {"r>b", 2.0 / 3},
                                                              {"s>b", 1.0 / 3}});
  const auto broken = build("leaf-spine", 4, R"("leaves": 2, "hosts_per_leaf": 2, "spines": 3, "routing": "adaptive",
      "links": [{"between": ["leaf0", "spine1"], "down": true}])");
  CHECK(shares(*broken, 0, 2).at("leaf0>spine0") == 0.5);
  CHECK(!shares(*broken, 0, 2).contains("leaf0>spine1"));
}

// h = mix(mix(mix(seed ^ s) ^ d) ^ c), written out once more from the formula of docs/topologies.md. The first number
// that splitmix64 makes of seed 0 is published: 0xE220A8397B1DCDAF (Vigna, splitmix64.c).
TEST_CASE("ecmp hashes seats and channels") {
  const auto mix = [](std::uint64_t h) {
    h += 0x9E3779B97F4A7C15;
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9;
    h = (h ^ h >> 27) * 0x94D049BB133111EB;
    return h ^ h >> 31;
  };
  REQUIRE(mix(0) == 0xE220A8397B1DCDAF);
  const auto tree = build("fat-tree", 16, R"("ports": 4, "routing": "ecmp", "flows": 2, "seed": 7)");
  CHECK(tree->parts() == 2);
  std::set<std::uint64_t> taken;
  for (const std::uint32_t stream : {0U, 1U, 5U})
    for (const std::uint32_t part : {0U, 1U}) {
      const std::uint64_t h = mix(mix(mix(7 ^ 3U) ^ 12U) ^ (stream * 2 + part));
      std::vector<LinkId> path, expected;
      tree->route_part(3, 12, stream, part, path);
      tree->way(3, 12, h % 4, expected);
      CHECK(path == expected);
      taken.insert(h % 4);
    }
  CHECK(taken.size() > 1);
  // Ranks sit elsewhere: their seats are what is hashed.
  const auto placed = build("fat-tree", 16, R"("ports": 4, "routing": "ecmp", "seed": 7, "placement": "spread")");
  std::vector<LinkId> path, expected;
  placed->route_part(0, 9, 0, 0, path);
  const NodeId here = placed->seat(0), there = placed->seat(9);
  tree->way(here, there, mix(mix(mix(7 ^ here) ^ there)) % tree->way_count(here, there), expected);
  CHECK(path == expected);
}

TEST_CASE("with one way every routing is the same") {
  for (const char* routing : {"d-mod-k", "ecmp", "adaptive"}) {
    const auto one = build(
        "leaf-spine", 6, R"("leaves": 3, "hosts_per_leaf": 2, "spines": 1, "routing": ")" + std::string(routing) + '"');
    for (NodeId from = 0; from < 6; ++from)
      for (NodeId to = 0; to < 6; ++to) {
        std::vector<LinkShare> links;
        const double latency = one->shares(from, to, 3, 0, links);
        std::vector<LinkId> path = route(*one, from, to);
        CHECK(latency == Approx(1e-6 * static_cast<double>(path.size())));
        std::sort(path.begin(), path.end());
        CHECK(one->ways_walked(from, to) == 1);
        REQUIRE(links.size() == path.size());
        for (std::size_t i = 0; i < path.size(); ++i) CHECK((links[i].link == path[i] && links[i].share == 1));
      }
  }
}

TEST_CASE("the number of ways that a message takes") {
  const auto ways = [](const char* routing, NodeId from, NodeId to) {
    return build("fat-tree", 16, R"("ports": 4, "routing": )" + std::string(routing))->ways_walked(from, to);
  };
  // To another pod there are 2 · 2, to another edge switch of the pod 2, to the same one 1.
  CHECK(ways(R"("d-mod-k")", 0, 12) == 1);
  CHECK(ways(R"("adaptive")", 0, 12) == 4);
  CHECK(ways(R"("adaptive")", 0, 2) == 2);
  CHECK(ways(R"("ecmp", "flows": 7)", 0, 12) == 7);
  CHECK(ways(R"("ecmp", "flows": 7)", 0, 1) == 1);
}

TEST_CASE("results show the flows and the seed that an option names, also the defaults") {
  const auto shown = [](std::string_view words) {
    return in_words(parse_routing_in_words({}, words, TopologyKind::FatTree, {}));
  };
  for (const char* words : {"d-mod-k", "ecmp", "ecmp:seed=1", "ecmp:seed=2", "ecmp:flows=1,seed=1", "ecmp:flows=4"})
    CHECK(shown(words) == words);
}

TEST_CASE("topologies with a single way have no choice of routing, and only ecmp has flows") {
  const auto complaint = [](std::string_view kind, std::string_view rest) {
    return error_place([&] { spec_of(json_of(kind, rest)); });
  };
  CHECK(complaint("star", R"("routing": "ecmp")") == "cluster.json: /routing");
  CHECK(spec_of(json_of("star", R"("routing": "d-mod-k")")).routing.kind == Routing::Kind::ByDestination);
  CHECK(complaint("fat-tree", R"("ports": 4, "routing": "valiant")") == "cluster.json: /routing");
  CHECK(complaint("fat-tree", R"("ports": 4, "flows": 2)") == "cluster.json: /flows");
  CHECK(complaint("fat-tree", R"("ports": 4, "routing": "adaptive", "flows": 2)") == "cluster.json: /flows");
}
