#include "sim/output/report/calibration_report.hpp"

#include "tests/catch.hpp"
#include "tests/studies/calibration/logs.hpp"

using namespace allreplay;

namespace {

double law(Bytes m) {
  return m <= 65536 ? 20e-6 + 2e-9 * static_cast<double>(m) : 300e-6 + 0.5e-9 * static_cast<double>(m);
}

Calibration calibration() {
  CalibrationRequest request;
  request.algorithm = &find_algorithm("ring", {});
  return calibrate(read_measurements(test_logs::nccl_tests(test_logs::doublings(8, 64 << 20), law, 8), "f", {}),
                   request);
}

}  // namespace

TEST_CASE("the pieces of the table, and the bus bandwidth by it") {
  const JsonValue json = calibration_json(calibration(), true);
  CHECK(json.at("better").get<std::string>() == "table");
  REQUIRE(json.at("pieces").size() == 2);
  CHECK(json.at("pieces")[0].at("a").get<double>() == Approx(20e-6));
  CHECK(json.at("pieces")[1].at("b").get<double>() == Approx(0.5e-9));
  CHECK(json.at("last_piece_from").get<double>() == 131072);
  // 64 MiB take 300 us + 33.55 ms by the table; 14/8 of it on each link: 3.469 GB/s.
  CHECK(json.at("busbw_GBps").get<double>() == Approx(3.469).epsilon(1e-3));
}

TEST_CASE(
    "levels as JSON: inside a node its own constants, between nodes the network's, and none that nobody measured") {
  const std::vector<Calibration> logs{calibration()};
  LevelOutcome outcome{.logs = logs, .fit = {}, .why = ""};
  outcome.fit.network.alpha = 5e-6;
  outcome.fit.network.beta = 8e-9;
  outcome.fit.network.node = NodeLevel{8, 1e-6, 2e-9, 1, {}};
  outcome.fit.known = {true, true, true, false};
  outcome.fit.errors.resize(1);
  const Json json = Json::parse(levels_json(outcome).dump(), "levels");
  CHECK(json.at("node").at("beta").number() == 2e-9);
  CHECK(json.at("node").at("alpha").number() == 1e-6);
  CHECK(json.at("network").at("beta").number() == 8e-9);
  CHECK(json.at("network").at("alpha").dump() == "null");
}
