#include <algorithm>
#include <map>
#include <set>

#include "tests/inputs/cluster/topologies.hpp"

namespace {

// Checks what holds in every topology: routes join, never pass a node twice, and are the same when asked again; links
// come in pairs of opposite directions; names are unique; the heaviest links of a route are found without walking it.
void check(const Topology& topology) {
  const auto links = topology.links();
  REQUIRE(links.size() % 2 == 0);
  for (std::size_t id = 0; id < links.size(); id += 2) {
    REQUIRE(links[id].from == links[id + 1].to);
    REQUIRE(links[id].to == links[id + 1].from);
    REQUIRE(links[id].from != links[id].to);
    REQUIRE(std::max(links[id].from, links[id].to) < topology.nodes());
  }
  std::set<std::string> names;
  for (NodeId node = 0; node < topology.nodes(); ++node) REQUIRE(names.insert(topology.name(node)).second);
  std::vector<double> weights;
  for (LinkId link = 0; link < links.size(); ++link) weights.push_back(link * 7919 % 101);
  const auto routes = topology.route_count();
  routes->weigh(weights);
  for (std::int64_t from = 0; from < topology.hosts(); ++from) {
    REQUIRE(route(topology, from, from).empty());
    for (std::int64_t to = 0; to < topology.hosts(); ++to) {
      way(topology, from, to);
      std::set<NodeId> seen{static_cast<NodeId>(from)};
      const auto path = route(topology, from, to);
      double most = 0;
      for (const LinkId link : path) {
        REQUIRE(seen.insert(links[link].to).second);
        most = std::max(most, weights[link]);
      }
      REQUIRE(routes->most(static_cast<NodeId>(from), static_cast<NodeId>(to), 0) == most);
      REQUIRE(route(topology, from, to) == path);
    }
  }
}

// Hop counts of shortest paths, by Floyd and Warshall.
std::vector<std::vector<int>> shortest_hops(const Topology& topology) {
  const auto nodes = static_cast<std::size_t>(topology.nodes());
  std::vector<std::vector<int>> hops(nodes, std::vector<int>(nodes, 1 << 20));
  for (std::size_t node = 0; node < nodes; ++node) hops[node][node] = 0;
  for (const Link& link : topology.links())
    if (link.bandwidth > 0) hops[link.from][link.to] = 1;
  for (std::size_t over = 0; over < nodes; ++over)
    for (std::size_t a = 0; a < nodes; ++a)
      for (std::size_t b = 0; b < nodes; ++b) hops[a][b] = std::min(hops[a][b], hops[a][over] + hops[over][b]);
  return hops;
}

void check_minimal(const Topology& topology) {
  const auto hops = shortest_hops(topology);
  for (std::int64_t from = 0; from < topology.hosts(); ++from)
    for (std::int64_t to = 0; to < topology.hosts(); ++to)
      REQUIRE(route(topology, from, to).size() ==
              static_cast<std::size_t>(hops[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)]));
}

// Counts the routes between all pairs of hosts that use each link, by the kinds of node that the link joins.
std::map<std::string, std::set<int>> loads(const Topology& topology) {
  std::vector<int> load(topology.links().size());
  for (std::int64_t from = 0; from < topology.hosts(); ++from)
    for (std::int64_t to = 0; to < topology.hosts(); ++to)
      for (const LinkId link : route(topology, from, to)) ++load[link];
  std::map<std::string, std::set<int>> by_kind;  // "h to edge": names without their numbers
  const auto kind = [&](NodeId node) {
    std::string name = topology.name(node);
    name.erase(std::find_if(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }), name.end());
    return name;
  };
  for (std::size_t id = 0; id < load.size(); ++id)
    by_kind[kind(topology.links()[id].from) + " to " + kind(topology.links()[id].to)].insert(load[id]);
  return by_kind;
}

}  // namespace

TEST_CASE("a star: up and down through the switch") {
  const auto star = build("star", 5);
  CHECK(star->hosts() == 5);
  CHECK(star->switches() == 1);
  CHECK(star->links().size() == 2 * 5);
  CHECK(way(*star, 3, 1) == "h3 s0 h1");
  check(*star);
  check_minimal(*star);
  check(*build("star", 1));
}

TEST_CASE("a ring: the shorter way round, upwards when both are equal") {
  const auto ring = build("ring", 6);
  CHECK(ring->switches() == 0);
  CHECK(ring->links().size() == 2 * 6);
  CHECK(way(*ring, 4, 0) == "h4 h5 h0");
  CHECK(way(*ring, 0, 4) == "h0 h5 h4");
  CHECK(way(*ring, 5, 2) == "h5 h0 h1 h2");
  for (const int hosts : {1, 2, 3, 4, 5, 7}) {
    const auto one = build("ring", hosts);
    CHECK(one->links().size() == 2u * (hosts == 1 ? 0 : hosts == 2 ? 1 : static_cast<unsigned>(hosts)));
    check(*one);
    check_minimal(*one);
  }
}

TEST_CASE("a torus corrects one dimension after the other") {
  const auto torus = build("torus", 12, R"("dimensions": [3, 4])");
  CHECK(torus->hosts() == 12);
  CHECK(torus->links().size() == 2 * 24);
  CHECK(way(*torus, 0, 11) == "h0 h8 h11");  // (0, 0) to (2, 3): both ways round
  CHECK(way(*torus, 1, 7) == "h1 h5 h6 h7");
  for (const char* dimensions :
       {"[1, 1]", "[2, 2]", "[2, 5]", "[5, 2]", "[4, 4]", "[1, 4]", "[2, 3, 4]", "[3, 3, 3]", "[4, 2, 2]"}) {
    CAPTURE(dimensions);
    const auto one = build("torus", 1, std::string(R"("dimensions": )") + dimensions);
    check(*one);
    check_minimal(*one);
  }
  CHECK(build("torus", 1, R"("dimensions": [2, 3, 4])")->links().size() == 2 * (12 + 24 + 24));
}

TEST_CASE("double binary trees: a link per edge of both, a route in one of them") {
  // N = 6. Tree 1: 1-0 2-0 3-1 4-1 5-2. Tree 2, mirrored: 4-5 3-5 2-4 1-4 0-3.
  const auto trees = build("double-binary-tree", 6);
  CHECK(trees->switches() == 0);
  CHECK(trees->links().size() == 2 * 2 * 5);
  CHECK(way(*trees, 4, 5) == "h4 h5");
  CHECK(way(*trees, 5, 0) == "h5 h2 h0");
  CHECK(way(*trees, 0, 5) == "h0 h2 h5");
  CHECK(way(*trees, 1, 5) == "h1 h4 h5");     // tree 2; by tree 1 h1 h0 h2 h5
  CHECK(way(*trees, 3, 2) == "h3 h1 h0 h2");  // as long in tree 2: h3 h5 h4 h2
  for (const int hosts : {1, 2, 3, 8, 13, 32}) check(*build("double-binary-tree", hosts));
}

TEST_CASE("a Fat-Tree: two, four or six links, spread by destination") {
  const auto tree = build("fat-tree", 16, R"("ports": 4)");
  CHECK(tree->hosts() == 16);
  CHECK(tree->switches() == 20);
  CHECK(tree->links().size() == 2 * 48);
  CHECK(tree->group_size() == 2);
  CHECK(way(*tree, 0, 1) == "h0 edge0 h1");
  CHECK(way(*tree, 0, 2) == "h0 edge0 agg0 edge1 h2");
  CHECK(way(*tree, 0, 3) == "h0 edge0 agg1 edge1 h3");
  CHECK(way(*tree, 0, 4) == "h0 edge0 agg0 core0 agg2 edge2 h4");
  CHECK(way(*tree, 0, 7) == "h0 edge0 agg1 core3 agg3 edge3 h7");
  for (const char* ports : {"2", "4", "6", "8"}) {
    const auto one = build("fat-tree", 2, std::string(R"("ports": )") + ports);
    check(*one);
    if (one->hosts() < 60) check_minimal(*one);
  }
  // Every host to every other: all links of a layer and direction carry the same.
  for (const auto& [kind, counts] : loads(*build("fat-tree", 54, R"("ports": 6)"))) {
    CAPTURE(kind);
    CHECK(counts.size() == 1);
  }
}

TEST_CASE("an oversubscribed Fat-Tree has thinner links above its edge switches") {
  const auto tree = build("fat-tree", 16, R"("ports": 4, "oversubscription": 4)");
  for (const Link& link : tree->links()) {
    const std::string ends = tree->name(link.from) + tree->name(link.to);
    const bool thin = ends.find("edge") != std::string::npos && ends.find("agg") != std::string::npos;
    CHECK(link.bandwidth == (thin ? 0.25e9 : 1e9));
  }
}

TEST_CASE("leaf and spine: two or four links, over spine d mod spines to host d") {
  const auto fabric = build("leaf-spine", 2, R"("leaves": 3, "hosts_per_leaf": 4, "spines": 2)");
  CHECK(fabric->hosts() == 12);
  CHECK(fabric->switches() == 3 + 2);
  CHECK(fabric->links().size() == 2 * (12 + 3 * 2));
  CHECK(fabric->group_size() == 4);
  CHECK(way(*fabric, 0, 3) == "h0 leaf0 h3");
  CHECK(way(*fabric, 0, 4) == "h0 leaf0 spine0 leaf1 h4");
  CHECK(way(*fabric, 9, 5) == "h9 leaf2 spine1 leaf1 h5");
  for (const char* rest :
       {R"("leaves": 1, "hosts_per_leaf": 1, "spines": 1)", R"("leaves": 1, "hosts_per_leaf": 5, "spines": 3)",
        R"("leaves": 4, "hosts_per_leaf": 1, "spines": 3)", R"("leaves": 3, "hosts_per_leaf": 4, "spines": 6)",
        R"("leaves": 5, "hosts_per_leaf": 3, "spines": 4, "oversubscription": 3)"}) {
    const auto one = build("leaf-spine", 1, rest);
    check(*one);
    check_minimal(*one);
  }
  // Over all pairs of hosts every spine has the same load if the number of spines divides a leaf's hosts.
  for (const auto& [kind, counts] :
       loads(*build("leaf-spine", 1, R"("leaves": 3, "hosts_per_leaf": 4, "spines": 2)"))) {
    CAPTURE(kind);
    CHECK(counts.size() == 1);
  }
  SECTION("routes avoid a spine that a leaf has lost") {
    const auto less = build("leaf-spine", 2,
                            R"("leaves": 3, "hosts_per_leaf": 4, "spines": 2,
                               "links": [{"between": ["leaf1", "spine0"], "down": true}])");
    CHECK(way(*less, 0, 4) == "h0 leaf0 spine1 leaf1 h4");
    CHECK(way(*less, 0, 8) == "h0 leaf0 spine0 leaf2 h8");
    check(*less);
  }
  SECTION("GPUs of a host go over its spine") {
    const auto gpus = build("leaf-spine", 2,
                            R"("leaves": 2, "hosts_per_leaf": 2, "spines": 2, "gpus_per_host": 4,
                               "inner": {"latency": "0 us", "bandwidth": "9 GB/s"})");
    CHECK(gpus->hosts() == 16);
    CHECK(gpus->group_size() == 4);
    CHECK(way(*gpus, 5, 15) == "h1.gpu1 h1 leaf0 spine1 leaf1 h3 h3.gpu3");
    check(*gpus);
  }
}

TEST_CASE("a leaf's links up are its hosts' together, by the oversubscription") {
  // Eight hosts of 1 GB/s: over two spines 4 GB/s each; with an oversubscription of 4, 1 GB/s.
  for (const auto& [ratio, up] : {std::pair("1", 4e9), {"4", 1e9}}) {
    const auto fabric = build(
        "leaf-spine", 2, R"("leaves": 2, "hosts_per_leaf": 8, "spines": 2, "oversubscription": )" + std::string(ratio));
    for (const Link& link : fabric->links()) {
      const bool ends_at_host = std::min(link.from, link.to) < fabric->hosts();
      CHECK(link.bandwidth == (ends_at_host ? 1e9 : up));
      CHECK(link.latency == 1e-6);
    }
  }
}

TEST_CASE("BCube: two links per digit that differs, the first digit first") {
  const auto cube = build("bcube", 16, R"("n": 4, "k": 2)");
  CHECK(cube->hosts() == 16);
  CHECK(cube->switches() == 8);
  CHECK(cube->links().size() == 2 * 32);
  CHECK(way(*cube, 0, 3) == "h0 s0.0 h3");
  CHECK(way(*cube, 1, 9) == "h1 s1.1 h9");
  CHECK(way(*cube, 6, 8) == "h6 s1.2 h10 s0.2 h8");  // [1 2] over [2 2] to [2 0]
  for (const auto& [n, k] : {std::pair(2, 1), {5, 1}, {2, 4}, {3, 2}, {3, 3}, {4, 3}}) {
    const auto one = build("bcube", 1, "\"n\": " + std::to_string(n) + ", \"k\": " + std::to_string(k));
    check(*one);
    for (std::int64_t from = 0; from < one->hosts(); ++from) {
      for (std::int64_t to = 0; to < one->hosts(); ++to) {
        std::size_t differ = 0;
        for (std::int64_t a = from, b = to; a + b > 0; a /= n, b /= n) differ += a % n != b % n;
        REQUIRE(route(*one, from, to).size() == 2 * differ);
      }
    }
  }
}

TEST_CASE("the parameter servers of BML's paper load all links of BCube equally") {
  // On BCube(n, 2) with a share of 1/N on each server, push loads every link with (n − 1)/n of the bytes: of N² routes,
  // (n − 1)/n · N pass each link (docs/network.md, "BML's times").
  for (const int n : {3, 4, 7}) {
    const auto cube = build("bcube", 1, "\"n\": " + std::to_string(n) + ", \"k\": 2");
    for (const auto& [kind, counts] : loads(*cube)) CHECK(counts == std::set<int>{(n - 1) * n});
  }
}

TEST_CASE("several GPUs of a host are linked to its node") {
  const auto star = build("star", 6, R"("gpus_per_host": 4, "inner": {"latency": "0.5 us", "bandwidth": "300 GB/s"})");
  CHECK(star->hosts() == 8);  // ranks have room on eight GPUs, in two machines
  CHECK(star->machines() == 2);
  CHECK(star->switches() == 1);
  CHECK(star->group_size() == 4);
  CHECK(star->links().size() == 2 * (2 + 8));
  CHECK(way(*star, 1, 3) == "h0.gpu1 h0 h0.gpu3");
  CHECK(way(*star, 1, 4) == "h0.gpu1 h0 s0 h1 h1.gpu0");
  CHECK(star->links()[route(*star, 1, 3)[0]].bandwidth == 300e9);
  check(*star);
  check_minimal(*star);
  check(
      *build("bcube", 1, R"("n": 3, "k": 2, "gpus_per_host": 2, "inner": {"latency": "0 us", "bandwidth": "1 GB/s"})"));
}

TEST_CASE("rails: a port of every host to each rail switch, by the receiver's rail") {
  const std::string inner = R"("inner": {"latency": "0.5 us", "bandwidth": "300 GB/s"})";
  const auto rails = build("rail", 10, R"("gpus_per_host": 4, "rails": 2, )" + inner);
  CHECK(rails->hosts() == 12);  // room for ten on three machines
  CHECK(rails->machines() == 3);
  CHECK(rails->switches() == 2 + 3);
  CHECK(rails->group_size() == 4);
  CHECK(rails->links().size() == 2 * (3 * 2 + 2 * 3 + 12));
  CHECK(way(*rails, 1, 3) == "h0.gpu1 h0 h0.gpu3");
  CHECK(way(*rails, 1, 6) == "h0.gpu1 h0 rail0 h1 h1.gpu2");
  CHECK(way(*rails, 0, 7) == "h0.gpu0 h0 rail1 h1 h1.gpu3");
  check(*rails);
  check_minimal(*rails);
  // Every GPU to all: every port carries two GPUs in, from eight each, and as much out.
  const auto all = loads(*rails);
  CHECK(all.at("h to rail") == std::set<int>{16});
  CHECK(all.at("rail to h") == std::set<int>{16});
  CHECK(all.at("rail to spine") == std::set<int>{0});
  SECTION("hosts of two GPUs") {
    const auto pairs = build("rail", 4, R"("gpus_per_host": 2, "rails": 1, )" + inner);
    CHECK(way(*pairs, 0, 1) == "h0.gpu0 h0 h0.gpu1");
    CHECK(way(*pairs, 1, 2) == "h0.gpu1 h0 rail0 h1 h1.gpu0");
    check(*pairs);
  }
  SECTION("without PXN by the sender's, and over the spine of the host that receives") {
    const auto own =
        build("rail", 12, R"("gpus_per_host": 4, "rails": 2, "pxn": false, "oversubscription": 4, )" + inner);
    CHECK(way(*own, 1, 7) == "h0.gpu1 h0 rail1 h1 h1.gpu3");
    CHECK(way(*own, 1, 8) == "h0.gpu1 h0 rail1 spine2 rail0 h2 h2.gpu0");
    CHECK(own->links()[route(*own, 1, 8)[2]].bandwidth == 0.25e9);
    check(*own);
    for (const auto& [kind, counts] : loads(*own)) {
      CAPTURE(kind);
      CHECK(counts.size() == 1);
    }
  }
  SECTION("routes use another port if one is down") {
    const auto less =
        build("rail", 12,
              R"("gpus_per_host": 4, "rails": 2, "links": [{"between": ["h1", "rail0"], "down": true}], )" + inner);
    CHECK(way(*less, 0, 4) == "h0.gpu0 h0 rail1 h1 h1.gpu0");
    CHECK(way(*less, 0, 8) == "h0.gpu0 h0 rail0 h2 h2.gpu0");
    check(*less);
  }
  for (const char* rest :
       {R"("rails": 1)", R"("gpus_per_host": 3, "rails": 2, )", R"("gpus_per_host": 3, "rails": 3, "pxn": false, )"})
    check(*build("rail", 9, std::string(rest) + (std::string(rest).back() == ' ' ? inner : "")));
  CHECK(way(*build("rail", 3, R"("rails": 1)"), 2, 0) == "h2 rail0 h0");
}

TEST_CASE("degraded links keep their routes, links that are down are avoided") {
  SECTION("degraded") {
    const auto star =
        build("star", 3, R"("links": [{"between": ["s0", "h1"], "bandwidth": "0.1 GB/s", "latency": "7 us"}])");
    for (const LinkId id : route(*star, 1, 2)) {
      const bool changed = star->links()[id].from == 1;
      CHECK(star->links()[id].bandwidth == (changed ? 0.1e9 : 1e9));
      CHECK(star->links()[id].latency == (changed ? 7e-6 : 1e-6));
    }
    check(*star);
  }
  SECTION("a Fat-Tree uses another core, but only if it must") {
    const auto whole = build("fat-tree", 16, R"("ports": 4)");
    const auto tree = build("fat-tree", 16, R"("ports": 4, "links": [{"between": ["agg0", "core0"], "down": true}])");
    check(*tree);
    check_minimal(*tree);
    int around = 0;
    for (std::int64_t from = 0; from < 16; ++from) {
      for (std::int64_t to = 0; to < 16; ++to) {
        const std::string before = way(*whole, from, to);
        const bool meets =
            before.find("agg0 core0") != std::string::npos || before.find("core0 agg0") != std::string::npos;
        if (!meets) CHECK(way(*tree, from, to) == before);
        around += meets;
      }
    }
    CHECK(around == 4 * 3 + 12);  // pod 0's four hosts to three heads of pods; the twelve others to h0
  }
  SECTION("BCube relays through other servers") {
    const auto cube = build("bcube", 9, R"("n": 3, "k": 2, "links": [{"between": ["h0", "s1.0"], "down": true}])");
    check(*cube);
    check_minimal(*cube);
    CHECK(route(*cube, 0, 3).size() == 6);  // was 2
  }
  SECTION("a ring uses the other direction") {
    const auto ring = build("ring", 5, R"("links": [{"between": ["h0", "h4"], "down": true}])");
    CHECK(way(*ring, 4, 0) == "h4 h3 h2 h1 h0");
    check(*ring);
  }
  SECTION("GPUs, too") {
    const auto torus = build(
        "torus", 8, R"("dimensions": [2, 2], "gpus_per_host": 2, "inner": {"latency": "0 us", "bandwidth": "1 GB/s"},
        "links": [{"between": ["h0", "h1"], "down": true}, {"between": ["h3.gpu1", "h3"], "bandwidth": "2 GB/s"}])");
    CHECK(way(*torus, 0, 2) == "h0.gpu0 h0 h2 h3 h1 h1.gpu0");
    CHECK(torus->links()[route(*torus, 7, 6)[0]].bandwidth == 2e9);
    check(*torus);
  }
}

TEST_CASE("with a topology and no beta, costs come from the links between consecutive ranks") {
  const auto tree = build("fat-tree", 16, R"("ports": 4, "oversubscription": 2)");
  CHECK(consecutive_route_bound(*tree, 16).latency == Approx(6e-6).epsilon(1e-12));
  CHECK(consecutive_route_bound(*tree, 16).bandwidth == 0.5e9);
  CHECK(consecutive_route_bound(*tree, 4).latency == Approx(4e-6).epsilon(1e-12));
  CHECK(consecutive_route_bound(*tree, 2).bandwidth == 1e9);  // one edge switch
}

TEST_CASE("65,536 servers need no tables") {
  const auto cube = build("bcube", 65536, R"("n": 16, "k": 4)");
  CHECK(cube->hosts() == 65536);
  CHECK(cube->switches() == 4 * 4096);
  CHECK(cube->links().size() == 2 * 4 * 65536);
  CHECK(way(*cube, 0x1234, 0x1274) == "h4660 s1.292 h4724");
  CHECK(route(*cube, 0x0000, 0xffff).size() == 8);
}
