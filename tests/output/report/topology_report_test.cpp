#include "sim/output/report/topology_report.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

using namespace allreplay;

namespace {

Cluster cluster(const std::string& network) {
  return read_cluster(
      Json::parse(R"({"name": "mine", "workers": 4, "network": {"alpha": "1 us", )" + network + "}}", "mine.json"));
}

const std::string cube =
    R"("topology": {"kind": "bcube", "n": 2, "k": 2, "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}})";

}  // namespace

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
  CHECK(error_place([] { topology_json(cluster(R"("beta": "1 ns/B")")); }) == "mine.json: /network");
}
