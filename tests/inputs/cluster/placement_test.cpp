#include <algorithm>
#include <set>

#include "tests/error_place.hpp"
#include "tests/inputs/cluster/topologies.hpp"

namespace {

const std::string three_leaves = R"("leaves": 3, "hosts_per_leaf": 4, "spines": 2)";
const std::string of_four = R"("gpus_per_host": 4, "inner": {"latency": "3 us", "bandwidth": "9 GB/s"})";

std::unique_ptr<Topology> placed(std::string_view kind, std::int64_t workers, const std::string& rest,
                                 const std::string& placement) {
  return build(kind, workers, (rest.empty() ? "" : rest + ", ") + R"("placement": )" + placement);
}

// "h0 h4 h8": where the first ranks sit.
std::string seats(const Topology& topology, NodeId ranks) {
  std::string names;
  for (NodeId rank = 0; rank < ranks; ++rank) names += (rank > 0 ? " " : "") + topology.name(topology.seat(rank));
  return names;
}

// Each rank on a host of its own, each way the one between those hosts, and sums over all ways the same.
void check_moved(const Topology& moved, const Topology& whole) {
  std::set<NodeId> taken;
  for (NodeId rank = 0; rank < moved.hosts(); ++rank) {
    REQUIRE(moved.seat(rank) < moved.hosts());
    REQUIRE(taken.insert(moved.seat(rank)).second);
    REQUIRE(moved.name(rank) == whole.name(rank));
  }
  REQUIRE(moved.links().size() == whole.links().size());
  for (NodeId from = 0; from < moved.hosts(); ++from)
    for (NodeId to = 0; to < moved.hosts(); ++to)
      REQUIRE(route(moved, from, to) == route(whole, moved.seat(from), moved.seat(to)));
}

std::string complaint_of(std::string_view kind, std::int64_t workers, const std::string& rest,
                         const std::string& placement) {
  return error_place([&] { placed(kind, workers, rest, placement); });
}

}  // namespace

TEST_CASE("packed is the same as no placement") {
  const auto packed = placed("leaf-spine", 8, three_leaves, R"("packed")"),
             before = build("leaf-spine", 8, three_leaves);
  CHECK(packed->group_size() == 4);
  const Topology &moved = *packed, &kept = *before;
  CHECK(typeid(moved) == typeid(kept));
  check_moved(moved, kept);
}

TEST_CASE("spread: hosts from switch to switch in turn") {
  const auto fabric = placed("leaf-spine", 8, three_leaves, R"("spread")");
  CHECK(seats(*fabric, 12) == "h0 h4 h8 h1 h5 h9 h2 h6 h10 h3 h7 h11");
  CHECK(fabric->group_size() == 1);
  check_moved(*fabric, *build("leaf-spine", 8, three_leaves));
  CHECK(seats(*placed("fat-tree", 16, R"("ports": 4)", R"("spread")"), 10) == "h0 h2 h4 h6 h8 h10 h12 h14 h1 h3");
  CHECK(seats(*placed("bcube", 9, R"("n": 3, "k": 2)", R"("spread")"), 9) == "h0 h3 h6 h1 h4 h7 h2 h5 h8");
  // One leaf, or one host on each, leave nothing else.
  const std::string one = R"("leaves": 1, "hosts_per_leaf": 4, "spines": 2)",
                    thin = R"("leaves": 4, "hosts_per_leaf": 1, "spines": 2)";
  for (const std::string& rest : {one, thin})
    CHECK(seats(*placed("leaf-spine", 4, rest, R"("spread")"), 4) == "h0 h1 h2 h3");
}

TEST_CASE("spread: the GPUs of a host stay together if switches have several hosts") {
  const auto fabric = placed("leaf-spine", 8, three_leaves + ", " + of_four, R"("spread")");
  CHECK(seats(*fabric, 9) == "h0.gpu0 h0.gpu1 h0.gpu2 h0.gpu3 h4.gpu0 h4.gpu1 h4.gpu2 h4.gpu3 h8.gpu0");
  CHECK(fabric->group_size() == 4);
  check_moved(*fabric, *build("leaf-spine", 8, three_leaves + ", " + of_four));
}

TEST_CASE("spread: if no switch has several hosts, ranks take hosts in turn") {
  const auto star = placed("star", 12, of_four, R"("spread")");
  CHECK(seats(*star, 5) == "h0.gpu0 h1.gpu0 h2.gpu0 h0.gpu1 h1.gpu1");
  CHECK(star->group_size() == 1);
  check_moved(*star, *build("star", 12, of_four));
  // Ten workers on three hosts: four, three and three of them.
  CHECK(seats(*placed("star", 10, of_four, R"("spread")"), 10).find("h1.gpu3") == std::string::npos);
}

TEST_CASE("a list: ranks fill its hosts in their order") {
  const auto fabric = placed("leaf-spine", 4, three_leaves, R"(["h11", "h3", "h7", "h2"])");
  CHECK(seats(*fabric, 6) == "h11 h3 h7 h2 h0 h1");
  check_moved(*fabric, *build("leaf-spine", 4, three_leaves));
  const auto gpus = placed("leaf-spine", 7, three_leaves + ", " + of_four, R"(["h5", "h1"])");
  CHECK(seats(*gpus, 5) == "h5.gpu0 h5.gpu1 h5.gpu2 h5.gpu3 h1.gpu0");
  check_moved(*gpus, *build("leaf-spine", 7, three_leaves + ", " + of_four));
  // Leaves may be exchanged: ranks that shared a leaf still do.
  CHECK(placed("leaf-spine", 8, three_leaves, R"(["h8", "h9", "h10", "h11", "h0", "h1", "h2", "h3"])")->group_size() ==
        4);
  CHECK(placed("leaf-spine", 8, three_leaves, R"(["h8", "h9", "h10", "h0", "h11", "h1", "h2", "h3"])")->group_size() ==
        1);
  const std::string graph =
      R"({"kind": "graph", "hosts": ["a", "b", "c"], "switches": ["s"], "link": {"latency": "1 us", "bandwidth": "1 GB/s"},
          "links": [{"between": ["a", "s"]}, {"between": ["b", "s"]}, {"between": ["c", "s"]}], "placement": ["c", "a"]})";
  CHECK(seats(*make_topology(spec_of(graph), 2), 3) == "c a b");
}

TEST_CASE("routes around links that are down start at the ranks' seats") {
  const auto fabric = placed(
      "leaf-spine", 6, three_leaves + R"(, "links": [{"between": ["leaf1", "spine0"], "down": true}])", R"("spread")");
  // Rank 1 sits on h4, of spine 0.
  std::vector<std::string> over;
  for (const LinkId link : route(*fabric, 0, 1)) over.push_back(fabric->name(fabric->links()[link].to));
  CHECK(over == std::vector<std::string>{"leaf0", "spine1", "leaf1", "h4"});
}

TEST_CASE("closed forms count ways from the ranks' seats") {
  for (const char* placement : {R"("spread")", R"(["h11", "h3", "h7", "h2", "h0", "h1"])"}) {
    const auto fabric = placed("leaf-spine", 6, three_leaves, placement);
    const std::vector<std::int64_t> from{1, 0, 2, 1, 0, 0, 1, 0, 0, 0, 3, 0}, to{0, 1, 1, 1, 1, 0, 0, 0, 0, 2, 0, 0};
    std::vector<double> counted(fabric->links().size(), 0), walked = counted;
    std::vector<HostPair> ends;
    REQUIRE(fabric->count_all(from, to, counted, ends));
    for (NodeId a = 0; a < 12; ++a)
      for (NodeId b = 0; b < 12; ++b)
        for (const LinkId link : route(*fabric, a, b)) walked[link] += static_cast<double>(from[a] * to[b]);
    CHECK(counted == walked);
    for (const auto& [a, b] : ends) {
      CHECK(from[a] > 0);
      CHECK(to[b] > 0);
    }
  }
}

TEST_CASE("impossible placements") {
  const auto listed = [](const std::string& placement, std::int64_t workers = 4) {
    return complaint_of("leaf-spine", workers, three_leaves, placement);
  };
  CHECK(listed(R"("spred")") == "cluster.json: /placement");
  CHECK(listed(R"("h0,h1")") == "cluster.json: /placement");
  CHECK(error_place([] { parse_placement("h3", {"command line", "--placement"}); }) == "command line: --placement");
  CHECK(listed("3") == "cluster.json: /placement");
  CHECK(listed("[]") == "cluster.json: /placement");
  CHECK(listed("[0, 1, 2, 3]") == "cluster.json: /placement/0");
  CHECK(listed(R"(["h0", "h1", "h12", "h3"])") == "cluster.json: /placement/2");
  CHECK(listed(R"(["h0", "h1", "leaf0", "h3"])") == "cluster.json: /placement/2");
  CHECK(listed(R"(["h0", "h1", "h2", "h1"])") == "cluster.json: /placement/3");
  CHECK(listed(R"(["h0", "h1", "h2"])") == "cluster.json: /placement");
  CHECK(complaint_of("star", 9, of_four, R"(["h1", "h0"])") == "cluster.json: /placement");
  CHECK(complaint_of("star", 9, "", R"("spread")") == "cluster.json: /placement");
  CHECK(complaint_of("rail", 8, of_four + R"(, "rails": 2)", R"("spread")") == "cluster.json: /placement");
  CHECK(complaint_of("rail", 8, of_four + R"(, "rails": 2)", R"("packed")").empty());
}

TEST_CASE("nodes keep their workers if there is a topology, too") {
  const auto complaint = [](int workers, const std::string& topology) {
    return error_place([&] {
      read_cluster(Json::parse(R"({"name": "c", "workers": 8, "network": {"alpha": "5 us", "bandwidth": "1 GB/s",
                                   "node": {"workers": )" +
                                   std::to_string(workers) +
                                   R"(, "alpha": "1 us", "bandwidth": "9 GB/s"}, "topology": )" + topology + "}}",
                               "c.json"));
    });
  };
  const std::string spread = R"(, "placement": "spread")";
  CHECK(complaint(4, json_of("leaf-spine", three_leaves + ", " + of_four + spread)).empty());
  CHECK(complaint(4, json_of("leaf-spine", three_leaves + spread)) == "c.json: /network/topology/placement");
  CHECK(complaint(4, json_of("star", of_four + spread)) == "c.json: /network/topology/placement");
  CHECK(complaint(4, json_of("star", of_four + R"(, "placement": ["h1", "h0"])")).empty());
}

TEST_CASE("a network's links exist once for any number of jobs") {
  const std::shared_ptr<const Topology> network = build("fat-tree", 16, R"("ports": 4)");
  const std::vector<NodeId> seats{3, 1};
  const auto placed = seated(network, seats);
  CHECK(placed->links().data() == network->links().data());
  CHECK(placed->links().size() == 96);  // 3 · 16 cables, both ways
}
