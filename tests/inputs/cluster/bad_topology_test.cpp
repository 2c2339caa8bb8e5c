#include "tests/error_place.hpp"
#include "tests/inputs/cluster/topologies.hpp"

namespace {

// Returns the place of the error in a "topology" of that JSON.
std::string complaint(const std::string& json, std::int64_t workers = 4) {
  return error_place([&] { make_topology(spec_of(json), workers); });
}

std::string graph(std::string_view hosts, std::string_view switches, std::string_view links) {
  return R"({"kind": "graph", "link": {"latency": "1 us", "bandwidth": "1 GB/s"}, "hosts": [)" + std::string(hosts) +
         R"(], "switches": [)" + std::string(switches) + R"(], "links": [)" + std::string(links) + "]}";
}

}  // namespace

TEST_CASE("impossible sizes") {
  CHECK(complaint(json_of("fat-tree", R"("ports": 5)")) == "cluster.json: /ports");
  CHECK(complaint(json_of("fat-tree", R"("ports": 0)")) == "cluster.json: /ports");
  CHECK(complaint(json_of("fat-tree", R"("ports": 4.5)")) == "cluster.json: /ports");
  CHECK(complaint(json_of("fat-tree", R"("ports": 4, "oversubscription": 0.5)")) == "cluster.json: /oversubscription");
  CHECK(spec_of(json_of("fat-tree", R"("ports": 4, "oversubscription": 1)")).oversubscription == 1);
  CHECK(spec_of(json_of("fat-tree", R"("ports": 4, "oversubscription": 1e6)")).oversubscription == 1e6);
  CHECK(complaint(json_of("fat-tree", R"("ports": 4, "oversubscription": 1000001)")) ==
        "cluster.json: /oversubscription");
  CHECK(complaint(json_of("torus", R"("dimensions": [4, 0])")) == "cluster.json: /dimensions/1");
  CHECK(complaint(json_of("torus", R"("dimensions": [4])")) == "cluster.json: /dimensions");
  CHECK(complaint(json_of("torus", R"("dimensions": 4)")) == "cluster.json: /dimensions");
  CHECK(complaint(json_of("torus")) == "cluster.json");
  CHECK(complaint(json_of("bcube", R"("n": 1, "k": 2)")) == "cluster.json: /n");
  CHECK(complaint(json_of("bcube", R"("n": 4, "k": 0)")) == "cluster.json: /k");
  const std::string sizes = R"("leaves": 2, "hosts_per_leaf": 4, "spines": )";
  CHECK(complaint(json_of("leaf-spine", R"("leaves": 2, "hosts_per_leaf": 4)")) == "cluster.json");
  CHECK(complaint(json_of("leaf-spine", sizes + "0")) == "cluster.json: /spines");
  CHECK(complaint(json_of("leaf-spine", sizes + R"(2, "oversubscription": 0.5)")) == "cluster.json: /oversubscription");
  CHECK(complaint(json_of("leaf-spine", sizes + R"(2, "ports": 4)")) == "cluster.json: /ports");
  CHECK(complaint(json_of("leaf-spine", sizes + "2"), 9) == "cluster.json");
  CHECK(complaint(json_of("bcube", R"("n": "4", "k": 2)")) == "cluster.json: /n");
}

TEST_CASE("rails and levels that contradict each other") {
  const std::string eight = R"("gpus_per_host": 8, "inner": {"latency": "0 s", "bandwidth": "300 GB/s"})";
  CHECK(complaint(json_of("rail", eight)) == "cluster.json");
  CHECK(complaint(json_of("rail", eight + R"(, "rails": 0)")) == "cluster.json: /rails");
  CHECK(complaint(json_of("rail", eight + R"(, "rails": 9)")) == "cluster.json: /rails");
  CHECK(complaint(json_of("rail", R"("rails": 2)")) == "cluster.json: /rails");
  CHECK(complaint(json_of("rail", eight + R"(, "rails": 8, "oversubscription": 0)")) ==
        "cluster.json: /oversubscription");
  CHECK(complaint(json_of("rail", eight + R"(, "rails": 8, "pxn": 1)")) == "cluster.json: /pxn");
  CHECK(complaint(json_of("star", R"("rails": 1)")) == "cluster.json: /rails");
  const auto network = [](const std::string& rest) {
    return error_place([&] {
      read_cluster(Json::parse(
          R"({"name": "c", "workers": 16, "network": {"alpha": "5 us", "bandwidth": "50 GB/s", )" + rest + "}}",
          "c.json"));
    });
  };
  const auto node = [](int workers) {
    return R"("node": {"workers": )" + std::to_string(workers) + R"(, "alpha": "1 us", "bandwidth": "300 GB/s"}, )";
  };
  const std::string rail = R"("topology": )" + json_of("rail", eight + R"(, "rails": 4)");
  CHECK(network(node(8) + rail).empty());
  CHECK(network(node(8) + R"("rails": 4, )" + rail).empty());
  CHECK(network(node(8) + R"("rails": 8, )" + rail) == "c.json: /network/rails");
  CHECK(network(node(4) + rail) == "c.json: /network/node/workers");
  CHECK(network(node(8) + R"("topology": )" + json_of("rail", R"("rails": 1)")) == "c.json: /network/node/workers");
  CHECK(network(node(8) + R"("rails": 2, "topology": )" + json_of("star", eight)) == "c.json: /network/rails");
}

TEST_CASE("workers that do not fit") {
  CHECK(complaint(json_of("bcube", R"("n": 4, "k": 2)"), 17) == "cluster.json");
  CHECK(complaint(json_of("fat-tree", R"("ports": 4)"), 17) == "cluster.json");
  CHECK(complaint(json_of("torus", R"("dimensions": [2, 2])"), 5) == "cluster.json");
  CHECK(complaint(
            json_of("torus",
                    R"("dimensions": [2, 2], "gpus_per_host": 2, "inner": {"latency": "0 s", "bandwidth": "1 GB/s"})"),
            9) == "cluster.json");
  CHECK(complaint(graph(R"("a", "b")", "", R"({"between": ["a", "b"]})"), 3) == "cluster.json");
}

TEST_CASE("sizes that exceed the memory are refused before anything is built") {
  CHECK(complaint(json_of("bcube", R"("n": 16777216, "k": 24)")) == "cluster.json");
  CHECK(complaint(json_of("bcube", R"("n": 2, "k": 24)")) == "cluster.json");
  CHECK(complaint(json_of("fat-tree", R"("ports": 16777216)")) == "cluster.json");
  CHECK(complaint(json_of("leaf-spine", R"("leaves": 16777216, "hosts_per_leaf": 1, "spines": 16777216)")) ==
        "cluster.json");
  CHECK(complaint(json_of("torus", R"("dimensions": [16777216, 16777216, 16777216])")) == "cluster.json");
  CHECK(complaint(json_of("star"), 1 << 24) == "cluster.json");
}

TEST_CASE("impossible links") {
  CHECK(complaint(R"({"kind": "star", "link": {"latency": "1 us", "bandwidth": "0 Gbit/s"}})") ==
        "cluster.json: /link/bandwidth");
  CHECK(complaint(R"({"kind": "star", "link": {"latency": "-1 us", "bandwidth": "1 Gbit/s"}})") ==
        "cluster.json: /link/latency");
  CHECK(complaint(R"({"kind": "star", "link": {"latency": "1 us"}})") == "cluster.json: /link");
  CHECK(complaint(R"({"kind": "star"})") == "cluster.json");
  CHECK(complaint(json_of("star", R"("gpus_per_host": 2)")) == "cluster.json");
  CHECK(complaint(json_of("star", R"("inner": {"latency": "0 s", "bandwidth": "1 GB/s"})")) == "cluster.json: /inner");
}

TEST_CASE("unknown keys and kinds name the nearest known") {
  CHECK(complaint(json_of("fattree")) == "cluster.json: /kind");
  CHECK(complaint(json_of("fat-tree", R"("port": 4)")) == "cluster.json: /port");
  CHECK(complaint(json_of("star", R"("ports": 4)")) == "cluster.json: /ports");
  CHECK(complaint(R"({"kind": "star", "link": {"latncy": "1 us", "bandwidth": "1 GB/s"}})") ==
        "cluster.json: /link/latncy");
  CHECK(complaint(json_of("star", R"("links": [{"betwen": ["h0", "s0"]}])")) == "cluster.json: /links/0/betwen");
}

TEST_CASE("changes that do not make sense") {
  const auto star = [](const std::string& links) { return json_of("star", R"("links": [)" + links + "]"); };
  CHECK(complaint(star(R"({"between": ["h0", "h9"], "down": true})")) == "cluster.json: /links/0/between/1");
  CHECK(complaint(json_of("leaf-spine", R"("leaves": 2, "spines": 3, "hosts_per_leaf": 2,
                                                "links": [{"between": ["h0", "h9"], "down": true}])")) ==
        "cluster.json: /links/0/between/1");
  CHECK(complaint(json_of("leaf-spine", R"("leaves": 2, "spines": 3, "hosts_per_leaf": 2, "gpus_per_host": 4,
                                                "inner": {"latency": "0 s", "bandwidth": "9 GB/s"}, "nics": 2,
                                                "links": [{"between": ["h0.nic2", "leaf0"], "down": true}])")) ==
        "cluster.json: /links/0/between/0");
  CHECK(complaint(star(R"({"between": ["h0", "h1"], "down": true})")) == "cluster.json: /links/0/between");
  CHECK(complaint(star(R"({"between": ["h0"], "down": true})")) == "cluster.json: /links/0/between");
  CHECK(complaint(star(R"({"between": ["h0", "h0"], "down": true})")) == "cluster.json: /links/0/between");
  CHECK(complaint(star(R"({"between": ["h0", "s0"]})")) == "cluster.json: /links/0");
  CHECK(complaint(star(R"({"between": ["h0", "s0"], "bandwidth": "0 B/s"})")) == "cluster.json: /links/0/bandwidth");
  CHECK(complaint(star(R"({"between": ["h0", "s0"], "down": true, "bandwidth": "1 B/s"})")) ==
        "cluster.json: /links/0/down");
  CHECK(
      complaint(star(R"({"between": ["h0", "s0"], "latency": "1 s"}, {"between": ["s0", "h0"], "latency": "2 s"})")) ==
      "cluster.json: /links/1");
  CHECK(complaint(star(R"({"between": ["h2", "s0"], "down": true})")) == "cluster.json: /links/0");
}

TEST_CASE("graphs that do not make sense") {
  CHECK(complaint(graph(R"("a", "b")", "", R"({"between": ["a", "c"]})")) == "cluster.json: /links/0/between/1");
  CHECK(complaint(graph(R"("host1", "host2")", "", R"({"between": ["host1", "hosst2"]})")) ==
        "cluster.json: /links/0/between/1");
  CHECK(complaint(graph(R"("a", "a")", "", "")) == "cluster.json: /hosts/1");
  CHECK(complaint(graph(R"("a", "b")", R"("b")", "")) == "cluster.json: /switches/0");
  CHECK(complaint(graph("", "", "")) == "cluster.json: /hosts");
  CHECK(complaint(graph(R"("")", "", "")) == "cluster.json: /hosts/0");
  CHECK(complaint(graph(R"("a", "b")", "", R"({"between": ["a", "a"]})")) == "cluster.json: /links/0/between");
  CHECK(complaint(graph(R"("a", "b")", "", R"({"between": ["a", "b"]}, {"between": ["b", "a"]})")) ==
        "cluster.json: /links/1");
  CHECK(complaint(graph(R"("a", "b")", "", R"({"between": ["a", "b"], "bandwidth": "0 B/s"})")) ==
        "cluster.json: /links/0/bandwidth");
  CHECK(complaint(graph(R"("a", "b", "c", "d")", "", R"({"between": ["a", "b"]}, {"between": ["c", "d"]})")) ==
        "cluster.json: /links");
  CHECK(complaint(R"({"kind": "graph", "hosts": ["a", "b"], "links": [{"between": ["a", "b"], "latency": "1 us"}]})") ==
        "cluster.json: /links/0");
  CHECK(
      complaint(graph(R"("a", "b", "c", "d")", "",
                      R"({"between": ["a", "b"]}, {"between": ["b", "c"]}, {"between": ["c", "d"], "down": true})")) ==
      "cluster.json: /links/2");
}

TEST_CASE("a cluster file may leave beta to its topology, but not alpha") {
  const auto cluster = [](const std::string& network) {
    return read_cluster(Json::parse(R"({"name": "c", "workers": 4, "network": {)" + network + "}}", "c.json"));
  };
  const std::string topology = R"("topology": )" + json_of("star");
  CHECK(cluster(R"("alpha": "1 us", )" + topology).network.topology->kind == TopologyKind::Star);
  CHECK(cluster(R"("alpha": "1 us", "bandwidth": "1 GB/s", )" + topology).network.beta == 1e-9);
  CHECK(error_place([&] { cluster(topology); }) == "c.json: /network");
  CHECK(error_place([&] { cluster(R"("alpha": "1 us")"); }) == "c.json: /network");
  CHECK(error_place([&] { cluster(R"("alpha": "1 us", "topologi": 1)"); }) == "c.json: /network/topologi");
  CHECK(error_place([&] { cluster(R"("alpha": "1 us", "topology": {"kind": "star"})"); }) ==
        "c.json: /network/topology");
}
