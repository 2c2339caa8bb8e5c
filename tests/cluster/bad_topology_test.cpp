#include "tests/cluster/topologies.hpp"
#include "tests/error_message.hpp"

using Catch::Matchers::Contains;

namespace {

// What a user sees for a "topology" of that JSON among 4 workers.
std::string complaint(const std::string& json, std::int64_t workers = 4) {
  const std::string message = error_message([&] { make_topology(spec_of(json), workers); });
  INFO(json);
  CHECK(message.find("cluster.json: ") == 0);
  CHECK(message.find('\n') == std::string::npos);
  return message;
}

std::string graph(std::string_view hosts, std::string_view switches, std::string_view links) {
  return R"({"kind": "graph", "link": {"latency": "1 us", "bandwidth": "1 GB/s"}, "hosts": [)" + std::string(hosts) +
         R"(], "switches": [)" + std::string(switches) + R"(], "links": [)" + std::string(links) + "]}";
}

}  // namespace

TEST_CASE("sizes that cannot be") {
  CHECK(complaint(json_of("fat-tree", R"("ports": 5)")) ==
        "cluster.json: /ports: 5 ports cannot be split evenly into up and down (an even number, such as 6)");
  CHECK_THAT(complaint(json_of("fat-tree", R"("ports": 0)")), Contains("/ports: 0 is not a whole number from 2"));
  CHECK_THAT(complaint(json_of("fat-tree", R"("ports": 4.5)")), Contains("/ports: 4.5"));
  CHECK_THAT(complaint(json_of("fat-tree", R"("ports": 4, "oversubscription": 0.5)")),
             Contains("/oversubscription: 0.5"));
  CHECK(spec_of(json_of("fat-tree", R"("ports": 4, "oversubscription": 1)")).oversubscription == 1);
  CHECK(spec_of(json_of("fat-tree", R"("ports": 4, "oversubscription": 1e6)")).oversubscription == 1e6);
  CHECK_THAT(complaint(json_of("fat-tree", R"("ports": 4, "oversubscription": 1000001)")),
             Contains("/oversubscription: 1000001"));
  CHECK_THAT(complaint(json_of("torus", R"("dimensions": [4, 0])")),
             Contains("/dimensions/1: 0 is not a whole number from 1"));
  CHECK_THAT(complaint(json_of("torus", R"("dimensions": [4])")), Contains("/dimensions: has 1 dimensions"));
  CHECK_THAT(complaint(json_of("torus", R"("dimensions": 4)")), Contains("/dimensions: is a number"));
  CHECK_THAT(complaint(json_of("torus")), Contains("the key 'dimensions' is missing"));
  CHECK_THAT(complaint(json_of("bcube", R"("n": 1, "k": 2)")), Contains("/n: 1 is not"));
  CHECK_THAT(complaint(json_of("bcube", R"("n": 4, "k": 0)")), Contains("/k: 0 is not"));
  const std::string sizes = R"("leaves": 2, "hosts_per_leaf": 4, "spines": )";
  CHECK_THAT(complaint(json_of("leaf-spine", R"("leaves": 2, "hosts_per_leaf": 4)")),
             Contains("the key 'spines' is missing"));
  CHECK_THAT(complaint(json_of("leaf-spine", sizes + "0")), Contains("/spines: 0 is not a whole number from 1"));
  CHECK_THAT(complaint(json_of("leaf-spine", sizes + R"(2, "oversubscription": 0.5)")),
             Contains("/oversubscription: 0.5 is not a valid oversubscription"));
  CHECK_THAT(complaint(json_of("leaf-spine", sizes + R"(2, "ports": 4)")), Contains("/ports: unknown key 'ports'"));
  CHECK_THAT(complaint(json_of("leaf-spine", sizes + "2"), 9),
             Contains("9 workers do not fit on the 8 hosts of this leaf-spine (at most 8 workers"));
  CHECK_THAT(complaint(json_of("bcube", R"("n": "4", "k": 2)")), Contains("/n: is a string"));
}

TEST_CASE("rails and levels that contradict each other") {
  const std::string eight = R"("gpus_per_host": 8, "inner": {"latency": "0 s", "bandwidth": "300 GB/s"})";
  CHECK_THAT(complaint(json_of("rail", eight)), Contains("the key 'rails' is missing"));
  CHECK_THAT(complaint(json_of("rail", eight + R"(, "rails": 0)")), Contains("/rails: 0 is not a whole number from 1"));
  CHECK(complaint(json_of("rail", eight + R"(, "rails": 9)")) ==
        "cluster.json: /rails: 9 network ports among the 8 GPUs of a host (at most 8)");
  CHECK_THAT(complaint(json_of("rail", R"("rails": 2)")), Contains("2 network ports among the 1 GPUs"));
  CHECK_THAT(complaint(json_of("rail", eight + R"(, "rails": 8, "oversubscription": 0)")),
             Contains("/oversubscription"));
  CHECK_THAT(complaint(json_of("rail", eight + R"(, "rails": 8, "pxn": 1)")), Contains("/pxn"));
  CHECK_THAT(complaint(json_of("star", R"("rails": 1)")), Contains("/rails: unknown key 'rails'"));
  const auto network = [](const std::string& rest) {
    return error_message([&] {
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
  CHECK(network(node(8) + R"("rails": 8, )" + rail) ==
        "c.json: /network/rails: 8 contradict the topology's 4 rails (4)");
  CHECK(network(node(4) + rail) == "c.json: /network/node/workers: 4 contradict the topology's 8 GPUs per host (8)");
  CHECK(network(node(8) + R"("topology": )" + json_of("rail", R"("rails": 1)")) ==
        "c.json: /network/node/workers: 8 contradict the topology's 1 GPUs per host (1)");
  CHECK_THAT(network(node(8) + R"("rails": 2, "topology": )" + json_of("star", eight)),
             Contains("/network/rails: 2 network ports contradict the topology, whose kind star"));
}

TEST_CASE("workers that do not fit") {
  CHECK_THAT(complaint(json_of("bcube", R"("n": 4, "k": 2)"), 17),
             Contains("17 workers do not fit on the 16 hosts of this bcube (at most 16 workers"));
  CHECK_THAT(complaint(json_of("fat-tree", R"("ports": 4)"), 17), Contains("17 workers do not fit on the 16 hosts"));
  CHECK_THAT(complaint(json_of("torus", R"("dimensions": [2, 2])"), 5),
             Contains("5 workers do not fit on the 4 hosts"));
  CHECK_THAT(
      complaint(
          json_of("torus",
                  R"("dimensions": [2, 2], "gpus_per_host": 2, "inner": {"latency": "0 s", "bandwidth": "1 GB/s"})"),
          9),
      Contains("9 workers do not fit on the 4 hosts of 2 GPUs"));
  CHECK_THAT(complaint(graph(R"("a", "b")", "", R"({"between": ["a", "b"]})"), 3),
             Contains("3 workers do not fit on the 2 hosts of this graph"));
}

TEST_CASE("sizes beyond what memory holds are refused before anything is built") {
  CHECK_THAT(complaint(json_of("bcube", R"("n": 16777216, "k": 24)")), Contains("at most 8388608 links"));
  CHECK_THAT(complaint(json_of("bcube", R"("n": 2, "k": 24)")), Contains("at most 8388608 links"));
  CHECK_THAT(complaint(json_of("fat-tree", R"("ports": 16777216)")), Contains("at most 8388608 links"));
  CHECK_THAT(complaint(json_of("leaf-spine", R"("leaves": 16777216, "hosts_per_leaf": 1, "spines": 16777216)")),
             Contains("at most 8388608 links"));
  CHECK_THAT(complaint(json_of("torus", R"("dimensions": [16777216, 16777216, 16777216])")),
             Contains("at most 8388608 links"));
  CHECK_THAT(complaint(json_of("star"), 1 << 24), Contains("at most 8388608 links"));
}

TEST_CASE("links that cannot be") {
  CHECK_THAT(complaint(R"({"kind": "star", "link": {"latency": "1 us", "bandwidth": "0 Gbit/s"}})"),
             Contains("/link/bandwidth: \"0 Gbit/s\" is not a valid rate"));
  CHECK_THAT(complaint(R"({"kind": "star", "link": {"latency": "-1 us", "bandwidth": "1 Gbit/s"}})"),
             Contains("/link/latency: \"-1 us\" is negative"));
  CHECK_THAT(complaint(R"({"kind": "star", "link": {"latency": "1 us"}})"),
             Contains("/link: the key 'bandwidth' is missing"));
  CHECK_THAT(complaint(R"({"kind": "star"})"), Contains("the key 'link' is missing"));
  CHECK_THAT(complaint(json_of("star", R"("gpus_per_host": 2)")), Contains("the key 'inner' is missing"));
  CHECK_THAT(complaint(json_of("star", R"("inner": {"latency": "0 s", "bandwidth": "1 GB/s"})")),
             Contains("/inner: links the GPUs of a host"));
}

TEST_CASE("unknown keys and kinds name the nearest known") {
  CHECK(complaint(json_of("fattree")) == "cluster.json: /kind: unknown topology 'fattree' (did you mean 'fat-tree'?)");
  CHECK(complaint(json_of("fat-tree", R"("port": 4)")) ==
        "cluster.json: /port: unknown key 'port' (did you mean 'ports'?)");
  CHECK_THAT(complaint(json_of("star", R"("ports": 4)")), Contains("/ports: unknown key 'ports'"));
  CHECK_THAT(complaint(R"({"kind": "star", "link": {"latncy": "1 us", "bandwidth": "1 GB/s"}})"),
             Contains("did you mean 'latency'?"));
  CHECK_THAT(complaint(json_of("star", R"("links": [{"betwen": ["h0", "s0"]}])")),
             Contains("/links/0/betwen: unknown key 'betwen' (did you mean 'between'?)"));
}

TEST_CASE("changes that do not make sense") {
  const auto star = [](const std::string& links) { return json_of("star", R"("links": [)" + links + "]"); };
  CHECK_THAT(complaint(star(R"({"between": ["h0", "h9"], "down": true})")),
             Contains("/links/0/between/1: there is no node 'h9' (names are like 'h0', 'h3', 's0')"));
  CHECK_THAT(complaint(json_of("leaf-spine", R"("leaves": 2, "spines": 3, "hosts_per_leaf": 2,
                                                "links": [{"between": ["h0", "h9"], "down": true}])")),
             Contains("(names are like 'h0', 'h3', 'leaf0', 'spine2')"));
  CHECK_THAT(
      complaint(json_of("leaf-spine", R"("leaves": 2, "spines": 3, "hosts_per_leaf": 2, "gpus_per_host": 4,
                                                "inner": {"latency": "0 s", "bandwidth": "9 GB/s"}, "nics": 2,
                                                "links": [{"between": ["h0.nic2", "leaf0"], "down": true}])")),
      Contains("/links/0/between/0: there is no node 'h0.nic2' (names are like 'h0', 'h0.gpu0', 'h0.nic0', 'h3', "
               "'h3.gpu3', 'h3.nic1', 'leaf0', 'spine2')"));
  CHECK_THAT(complaint(star(R"({"between": ["h0", "h1"], "down": true})")),
             Contains("/links/0/between: there is no link between 'h0' and 'h1' ('h0' is linked to 's0')"));
  CHECK_THAT(complaint(star(R"({"between": ["h0"], "down": true})")), Contains("/links/0/between: names 1 nodes"));
  CHECK_THAT(complaint(star(R"({"between": ["h0", "h0"], "down": true})")), Contains("links 'h0' to itself"));
  CHECK_THAT(complaint(star(R"({"between": ["h0", "s0"]})")), Contains("/links/0: changes nothing"));
  CHECK_THAT(complaint(star(R"({"between": ["h0", "s0"], "bandwidth": "0 B/s"})")),
             Contains("/links/0/bandwidth: \"0 B/s\" is not a valid rate"));
  CHECK_THAT(complaint(star(R"({"between": ["h0", "s0"], "down": true, "bandwidth": "1 B/s"})")),
             Contains("/links/0/down"));
  CHECK_THAT(
      complaint(star(R"({"between": ["h0", "s0"], "latency": "1 s"}, {"between": ["s0", "h0"], "latency": "2 s"})")),
      Contains("/links/1: the link from 's0' to 'h0' is listed twice"));
  CHECK_THAT(complaint(star(R"({"between": ["h2", "s0"], "down": true})")),
             Contains("/links/0: the links that are down disconnect 'h2' from 'h0'"));
}

TEST_CASE("graphs that do not make sense") {
  CHECK_THAT(complaint(graph(R"("a", "b")", "", R"({"between": ["a", "c"]})")),
             Contains("/links/0/between/1: there is no node 'c'"));
  CHECK_THAT(complaint(graph(R"("host1", "host2")", "", R"({"between": ["host1", "hosst2"]})")),
             Contains("did you mean 'host2'?"));
  CHECK_THAT(complaint(graph(R"("a", "a")", "", "")), Contains("/hosts/1: two nodes are called 'a'"));
  CHECK_THAT(complaint(graph(R"("a", "b")", R"("b")", "")), Contains("/switches/0: two nodes are called 'b'"));
  CHECK_THAT(complaint(graph("", "", "")), Contains("/hosts: is empty"));
  CHECK_THAT(complaint(graph(R"("")", "", "")), Contains("/hosts/0: is empty"));
  CHECK_THAT(complaint(graph(R"("a", "b")", "", R"({"between": ["a", "a"]})")), Contains("links 'a' to itself"));
  CHECK_THAT(complaint(graph(R"("a", "b")", "", R"({"between": ["a", "b"]}, {"between": ["b", "a"]})")),
             Contains("/links/1: the two nodes are linked twice"));
  CHECK_THAT(complaint(graph(R"("a", "b")", "", R"({"between": ["a", "b"], "bandwidth": "0 B/s"})")),
             Contains("/links/0/bandwidth"));
  CHECK_THAT(complaint(graph(R"("a", "b", "c", "d")", "", R"({"between": ["a", "b"]}, {"between": ["c", "d"]})")),
             Contains("/links: there is no route from 'a' to 'c'"));
  CHECK_THAT(
      complaint(R"({"kind": "graph", "hosts": ["a", "b"], "links": [{"between": ["a", "b"], "latency": "1 us"}]})"),
      Contains("/links/0: the key 'bandwidth' is missing"));
  CHECK_THAT(
      complaint(graph(R"("a", "b", "c", "d")", "",
                      R"({"between": ["a", "b"]}, {"between": ["b", "c"]}, {"between": ["c", "d"], "down": true})")),
      Contains("/links/2: the links that are down disconnect 'd' from 'a'"));
}

TEST_CASE("a cluster file may leave beta to its topology, but not alpha") {
  const auto cluster = [](const std::string& network) {
    return read_cluster(Json::parse(R"({"name": "c", "workers": 4, "network": {)" + network + "}}", "c.json"));
  };
  const std::string topology = R"("topology": )" + json_of("star");
  CHECK(cluster(R"("alpha": "1 us", )" + topology).network.topology->kind == TopologyKind::Star);
  CHECK(cluster(R"("alpha": "1 us", "bandwidth": "1 GB/s", )" + topology).network.beta == 1e-9);
  CHECK_THAT(error_message([&] { cluster(topology); }), Contains("/network: the key 'alpha' is missing"));
  CHECK_THAT(error_message([&] { cluster(R"("alpha": "1 us")"); }),
             Contains("/network: the key 'bandwidth' (or 'beta') is missing"));
  CHECK_THAT(error_message([&] { cluster(R"("alpha": "1 us", "topologi": 1)"); }),
             Contains("did you mean 'topology'?"));
  CHECK_THAT(error_message([&] { cluster(R"("alpha": "1 us", "topology": {"kind": "star"})"); }),
             Contains("c.json: /network/topology: the key 'link' is missing"));
}
