#include "sim/report/topology_report.hpp"

#include "tests/catch.hpp"
#include "tests/error_message.hpp"

using namespace allreplay;

namespace {

Cluster cluster(const std::string& network) {
  return read_cluster(
      Json::parse(R"({"name": "mine", "workers": 4, "network": {"alpha": "1 us", )" + network + "}}", "mine.json"));
}

const std::string cube =
    R"("topology": {"kind": "bcube", "n": 2, "k": 2, "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}})";

}  // namespace

TEST_CASE("the topology report, for people") {
  CHECK(topology_table(cluster(cube)) ==
        "cluster    mine\n"
        "topology   bcube\n"
        "workers    4\n"
        "hosts      4\n"
        "switches   4\n"
        "links      8\n"
        "diameter   4 links, 4 us\n"
        "bisection  20 Gbit/s\n");
  // One of two leaves of two hosts; spread, a host of each.
  const std::string leaves = R"("topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": 1,
    "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}, "gpus_per_host": 2, "inner": {"latency": "0 us", "bandwidth": "9 GB/s"}})";
  CHECK(topology_table(cluster(leaves)).find("workers    4, on 2 of 4 hosts\n") != std::string::npos);
  const std::string spread = std::string(cube).insert(cube.size() - 1, R"(, "placement": "spread")");
  CHECK(topology_table(cluster(spread)).find("bisection  20 Gbit/s\nplacement  spread\n") != std::string::npos);
}

TEST_CASE("the topology report, for programs") {
  const Json json = Json::parse(topology_json(cluster(cube)).dump(), "out");
  CHECK(json.at("kind").text() == "bcube");
  CHECK(json.at("switches").number() == 4);
  CHECK(json.at("diameter_hops").number() == 4);
  CHECK(json.at("diameter_s").number() == Approx(4e-6).epsilon(1e-12));
  CHECK(json.at("bisection_GBps").number() == 2.5);
  CHECK(json.at("bisection_exact").boolean());
  CHECK(json.at("placement").text() == "packed");
}

TEST_CASE("a cluster without a topology has none to report") {
  CHECK(error_message([] { topology_table(cluster(R"("beta": "1 ns/B")")); }) ==
        "mine.json: /network: the cluster 'mine' has no topology (add \"topology\"; see docs/topologies.md)");
}
