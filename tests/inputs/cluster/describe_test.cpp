#include "sim/inputs/cluster/describe.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "tests/inputs/cluster/topologies.hpp"

namespace {

TopologyFacts facts(std::string_view kind, std::int64_t workers, std::string_view rest = "") {
  const TopologySpec spec = spec_of(json_of(kind, rest));
  return describe(*make_topology(spec, workers), spec);
}

// The longest route, of all.
Diameter longest_route(const Topology& topology) {
  Diameter longest;
  for (std::int64_t from = 0; from < topology.hosts(); ++from) {
    for (std::int64_t to = 0; to < topology.hosts(); ++to) {
      double latency = 0;
      const auto path = route(topology, from, to);
      for (const LinkId link : path) latency += topology.links()[link].latency;
      longest.hops = std::max(longest.hops, static_cast<std::int64_t>(path.size()));
      longest.latency = std::max(longest.latency, latency);
    }
  }
  return longest;
}

// The least cut over all divisions of the hosts into halves and over all ways to put the switches on one side or the
// other: the definition itself, without flows.
double least_cut(const Topology& topology) {
  const auto nodes = static_cast<int>(topology.nodes()), machines = static_cast<int>(topology.machines());
  REQUIRE(nodes <= 20);
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t set = 0; set < (1u << nodes); ++set) {
    int inside = 0;
    for (int machine = 0; machine < machines; ++machine) inside += set >> topology.machine_node(machine) & 1u;
    if (inside != machines / 2) continue;
    double cut = 0;
    for (const Link& link : topology.links())
      if ((set >> link.from & 1u) && !(set >> link.to & 1u)) cut += link.bandwidth;
    least = std::min(least, cut);
  }
  return least;
}

}  // namespace

TEST_CASE("switches are as many as in BML's paper") {
  // BML, section 3.1: N servers take k·N/n switches in BCube(n, k), 5·N/n of n ports in a Fat-Tree. N is nᵏ and n³/4.
  CHECK(facts("bcube", 9, R"("n": 3, "k": 2)").switches == 6);
  CHECK(facts("bcube", 1024, R"("n": 32, "k": 2)").switches == 64);
  CHECK(facts("fat-tree", 1024, R"("ports": 16)").switches == 320);
  CHECK(facts("fat-tree", 2000, R"("ports": 20)").switches == 500);
  CHECK(facts("fat-tree", 2000, R"("ports": 20)").hosts == 2000);
  CHECK(facts("fat-tree", 2000, R"("ports": 20)").links == 6000);
}

TEST_CASE("spines of rails count if a route may use them") {
  // Three hosts of four GPUs on two rails: a spine a host, and a link from each rail to each; six ports, twelve GPUs.
  const std::string hosts = R"("gpus_per_host": 4, "rails": 2, "inner": {"latency": "1 us", "bandwidth": "1 GB/s"})";
  const auto counted = [&](std::string_view rest) {
    const TopologyFacts found = facts("rail", 12, hosts + std::string(rest));
    return std::pair(found.switches, found.links);
  };
  CHECK(counted("") == std::pair<std::int64_t, std::int64_t>(2, 18));
  CHECK(counted(R"(, "pxn": false)") == std::pair<std::int64_t, std::int64_t>(5, 24));
  CHECK(counted(R"(, "links": [{"between": ["h0", "rail0"], "bandwidth": "2 GB/s"}])") ==
        std::pair<std::int64_t, std::int64_t>(2, 18));
  CHECK(counted(R"(, "links": [{"between": ["h0", "rail0"], "down": true}])") ==
        std::pair<std::int64_t, std::int64_t>(5, 23));
}

TEST_CASE("diameters by rule are those of the routes") {
  const auto agree = [](std::string_view kind, std::int64_t workers, std::string_view rest = "") {
    CAPTURE(kind, workers, rest);
    const Diameter ruled = *facts(kind, workers, rest).diameter, found = longest_route(*build(kind, workers, rest));
    CHECK(ruled.hops == found.hops);
    CHECK(ruled.latency == Approx(found.latency).epsilon(1e-12));
  };
  for (const int hosts : {1, 2, 3, 6, 7}) {
    agree("star", hosts);
    agree("ring", hosts);
    agree("double-binary-tree", hosts);
  }
  for (const char* dimensions : {"[1, 1]", "[2, 2]", "[3, 4]", "[2, 3, 4]"})
    agree("torus", 1, std::string(R"("dimensions": )") + dimensions);
  for (const char* ports : {"2", "4", "6"}) agree("fat-tree", 2, std::string(R"("ports": )") + ports);
  for (const char* rest :
       {R"("leaves": 1, "hosts_per_leaf": 1, "spines": 2)", R"("leaves": 1, "hosts_per_leaf": 3, "spines": 2)",
        R"("leaves": 4, "hosts_per_leaf": 1, "spines": 2)", R"("leaves": 3, "hosts_per_leaf": 4, "spines": 5)"})
    agree("leaf-spine", 1, rest);
  agree("bcube", 1, R"("n": 2, "k": 1)");
  agree("bcube", 1, R"("n": 3, "k": 3)");
  agree("star", 2, R"("gpus_per_host": 2, "inner": {"latency": "3 us", "bandwidth": "9 GB/s"})");
  agree("star", 4, R"("gpus_per_host": 2, "inner": {"latency": "3 us", "bandwidth": "9 GB/s"})");
  for (const char* rest : {R"("rails": 2, "pxn": false)", R"("rails": 2)", R"("rails": 1)"})
    for (const int workers : {2, 6})
      agree("rail", workers,
            R"("gpus_per_host": 3, "inner": {"latency": "3 us", "bandwidth": "9 GB/s"}, )" + std::string(rest));
  agree("ring", 6, R"("links": [{"between": ["h0", "h1"], "down": true}])");
  agree("ring", 6, R"("links": [{"between": ["h0", "h1"], "latency": "9 us"}])");
}

TEST_CASE("a link that is explicitly not down keeps its properties") {
  const std::string_view up = R"("ports": 8, "links": [{"between": ["h0", "edge0"], "down": false}])";
  const TopologyFacts plain = facts("fat-tree", 128, R"("ports": 8)"), said = facts("fat-tree", 128, up);
  CHECK((said.bisection->exact && said.bisection->bandwidth == plain.bisection->bandwidth));
  CHECK(said.diameter->hops == plain.diameter->hops);
  CHECK(spec_of(json_of("fat-tree", up)).changed_links() == 0);
  CHECK(spec_of(json_of("star", R"("links": [{"between": ["h0", "s0"], "down": true},
                                             {"between": ["h1", "s0"], "latency": "1 us"},
                                             {"between": ["h2", "s0"], "down": false}])"))
            .changed_links() == 2);
}

TEST_CASE("bisections are the least of all cuts") {
  const auto agree = [](std::string_view kind, std::int64_t workers, std::string_view rest = "") {
    CAPTURE(kind, workers, rest);
    const auto bisection = facts(kind, workers, rest).bisection;
    REQUIRE(bisection);
    CHECK(bisection->exact);
    CHECK(bisection->bandwidth == Approx(least_cut(*build(kind, workers, rest))).epsilon(1e-8));
  };
  for (const int hosts : {2, 3, 4, 7, 8}) {
    agree("star", hosts);
    agree("ring", hosts);
    agree("double-binary-tree", hosts);
  }
  for (const char* dimensions :
       {"[1, 2]", "[1, 5]", "[2, 2]", "[2, 3]", "[2, 5]", "[2, 7]", "[3, 3]", "[3, 4]", "[4, 4]", "[3, 5]", "[2, 8]",
        "[5, 2]", "[3, 6]", "[2, 9]", "[2, 2, 2]", "[2, 2, 3]", "[3, 2, 3]", "[2, 2, 4]"})
    agree("torus", 1, std::string(R"("dimensions": )") + dimensions);
  agree("bcube", 1, R"("n": 5, "k": 1)");
  agree("bcube", 1, R"("n": 2, "k": 2)");
  agree("bcube", 1, R"("n": 2, "k": 3)");
  agree("bcube", 1, R"("n": 3, "k": 2)");
  agree("fat-tree", 2, R"("ports": 2)");
  agree("fat-tree", 2, R"("ports": 2, "oversubscription": 3)");
  for (const char* ratio : {"1", "1.5", "4"})
    for (const char* sizes :
         {R"("leaves": 1, "hosts_per_leaf": 5, "spines": 2)", R"("leaves": 2, "hosts_per_leaf": 3, "spines": 2)",
          R"("leaves": 2, "hosts_per_leaf": 4, "spines": 3)", R"("leaves": 3, "hosts_per_leaf": 3, "spines": 2)",
          R"("leaves": 3, "hosts_per_leaf": 4, "spines": 1)", R"("leaves": 4, "hosts_per_leaf": 2, "spines": 3)",
          R"("leaves": 5, "hosts_per_leaf": 1, "spines": 2)", R"("leaves": 5, "hosts_per_leaf": 2, "spines": 2)"})
      agree("leaf-spine", 1, std::string(sizes) + R"(, "oversubscription": )" + ratio);
  agree("star", 6, R"("gpus_per_host": 2, "inner": {"latency": "0 us", "bandwidth": "9 GB/s"})");
  for (const int workers : {4, 6})
    agree(
        "rail", workers,
        R"("gpus_per_host": 2, "rails": 2, "oversubscription": 5, "inner": {"latency": "0 us", "bandwidth": "9 GB/s"})");
  agree("ring", 6, R"("links": [{"between": ["h0", "h1"], "down": true}])");
  CHECK(!facts("star", 1).bisection);
}

TEST_CASE("maximum flows find no cut of a Fat-Tree below its rule") {
  for (const char* rest : {R"("ports": 4)", R"("ports": 4, "oversubscription": 2)"}) {
    const TopologySpec spec = spec_of(json_of("fat-tree", rest));
    const auto tree = make_topology(spec, 16);
    Cut cut(*tree);
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t set = 1; set < (1u << 16); set += 2) {
      if (std::popcount(set) != 8) continue;
      std::vector<bool> side(16);
      for (std::size_t host = 0; host < 16; ++host) side[host] = set >> host & 1u;
      least = std::min(least, cut(side));
    }
    std::vector<bool> pods(16);
    std::fill_n(pods.begin(), 8, true);
    CHECK(cut(pods) == bisection(*tree, spec)->bandwidth);
    CHECK(least >= bisection(*tree, spec)->bandwidth);
  }
}

TEST_CASE("a corner is a cheaper cut of BCube than a straight one; large ones have only an upper bound") {
  // BCube(6, 2), 36 servers: see bcube_bound.
  const auto bisection = facts("bcube", 1, R"("n": 6, "k": 2)").bisection;
  CHECK(!bisection->exact);
  CHECK(bisection->bandwidth == 16e9);
  // 5 by 5 of 7 by 7, of which 24 are the smaller half: 5 rows and 5 columns with two on the other side.
  CHECK(facts("bcube", 1, R"("n": 7, "k": 2)").bisection->bandwidth == 20e9);
}

TEST_CASE("DOT names all nodes and links") {
  CHECK(to_dot(*build("star", 2, R"("links": [{"between": ["h1", "s0"], "bandwidth": "100 Mbit/s"}])"), "a \"b\"") ==
        "graph \"a \\\"b\\\"\" {\n"
        "  node [shape=box];\n"
        "  \"h0\";\n"
        "  \"h1\";\n"
        "  \"s0\" [shape=ellipse];\n"
        "  \"h0\" -- \"s0\" [label=\"8 Gbit/s, 1 us\"];\n"
        "  \"h1\" -- \"s0\" [label=\"100 Mbit/s, 1 us\"];\n"
        "}\n");
  CHECK(to_dot(*build("ring", 3, R"("links": [{"between": ["h1", "h2"], "down": true}])"), "r")
            .find("\"h1\" -- \"h2\" [label=\"down\", style=dashed];") != std::string::npos);
  // Each NIC has a cable, at its host's end.
  const std::string nics =
      to_dot(*build("star", 4, R"("gpus_per_host": 2, "nics": 2, "inner": {"latency": "1 us", "bandwidth": "4 GB/s"},
"links": [{"between": ["h1.nic1", "s0"], "down": true}])"),
             "n");
  CHECK(nics.find("\"h1\" -- \"s0\" [taillabel=\"nic0\", label=\"8 Gbit/s, 1 us\"];") != std::string::npos);
  CHECK(nics.find("\"h1\" -- \"s0\" [taillabel=\"nic1\", label=\"down\", style=dashed];") != std::string::npos);
  CHECK(nics.find("\"h1.gpu1\" -- \"h1\" [label=\"32 Gbit/s, 1 us\"];") != std::string::npos);
}
