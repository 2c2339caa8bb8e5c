// The use of links, as JSON.
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/output/report/topology_report.hpp"

using namespace allreplay;

namespace {

// A ring of 1 MB among four on a star of 1 GB/s, one link half as fast, in 10 ms: 1.5 MB on every link.
LinkUsage of_a_ring() {
  Scenario scenario = scenario_of({}, "wfbp", 4, 0, 0);
  scenario.collective = "ring";
  scenario.cluster.network.topology = read_topology(Json::parse(
      R"({"kind": "star", "link": {"latency": "0 s", "bandwidth": "1 GB/s"},
"links": [{"between": ["h2", "s0"], "bandwidth": "0.5 GB/s"}]})",
      "cluster.json"));
  scenario.fidelity = "fluid";
  return link_usage(scenario, 1'000'000, 10e-3, {});
}

}  // namespace

TEST_CASE("links by kind, and the hottest") {
  const auto json = nlohmann::json::parse(links_json(of_a_ring()).dump());
  REQUIRE(json.at("kinds").size() == 1);
  const auto& kind = json["kinds"][0];
  CHECK(kind.at("links") == "h - s");
  CHECK(kind.at("number") == 4);
  CHECK(kind.at("least_bytes_per_s") == 0.5e9);
  CHECK(kind.at("most_bytes_per_s") == 1e9);
  CHECK(kind.at("mean_use").get<double>() == Approx((6 * 0.15 + 2 * 0.3) / 8));
  CHECK(kind.at("busiest_use").get<double>() == Approx(0.3));
  CHECK(kind.at("busiest_bytes").get<double>() == Approx(1.5e6));
  REQUIRE(json.at("hottest").size() == 8);
  CHECK(json["hottest"][0].at("link") == "h2 -> s0");
  CHECK(json["hottest"][0].at("users")[0].at("from") == 2);
  CHECK(json["hottest"][0].at("users")[0].at("to") == 3);
  CHECK(json["hottest"][0].at("users")[0].at("bytes").get<double>() == Approx(1.5e6));
}
