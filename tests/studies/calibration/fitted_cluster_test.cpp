#include "sim/studies/calibration/fitted_cluster.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/studies/calibration/logs.hpp"

#include "sim/inputs/cluster/cluster.hpp"
#include "sim/plans/collective/comm_cost.hpp"

using namespace allreplay;

namespace {

double two_pieces(Bytes m) {
  return m <= 65536 ? 20e-6 + 2e-9 * static_cast<double>(m) : 300e-6 + 0.5e-9 * static_cast<double>(m);
}

Calibration fitted_log(std::string_view collective = "ring", double gamma = 0) {
  CalibrationRequest request;
  request.algorithm = &find_algorithm(collective, {});
  request.gamma = gamma;
  return calibrate(read_measurements(test_logs::nccl_tests(test_logs::doublings(8, 64 << 20), two_pieces, 8), "f", {}),
                   request);
}

Cluster written(const Calibration& fitted, bool table) {
  return read_cluster(Json::parse(calibration_cluster(fitted, "mine", table, 1.25e9, {}), "out.json"));
}

}  // namespace

TEST_CASE("the cluster file has the fitted constants, to the last bit that matters") {
  const Calibration fitted = fitted_log("ring", 0.1e-9);
  const Cluster line = written(fitted, false);
  CHECK(line.name == "mine");
  CHECK(line.workers == 8);
  CHECK(line.network.collective == "ring");
  CHECK(*line.network.line_rate == Approx(1.25e9).epsilon(1e-14));
  REQUIRE(line.network.measured);
  CHECK(line.network.measured->a == Approx(fitted.line.a).epsilon(1e-14));
  CHECK(line.network.measured->b == Approx(fitted.line.b).epsilon(1e-14));
  CHECK(line.network.measured->gamma == Approx(0.1e-9).epsilon(1e-14));
  const Cluster table = written(fitted, true);
  REQUIRE(table.network.table.size() == 4);
  const CommCost cost = price(table.network, find_algorithm("ring", {}), 8, 8, {});
  for (const Bytes bytes : test_logs::doublings(8, 64 << 20))
    CHECK(to_seconds(cost(bytes)) == Approx(two_pieces(bytes)).epsilon(1e-8));
}

TEST_CASE("fits that a cluster file cannot express") {
  CalibrationRequest request;
  const SourceLocation place{"c", "--cluster-out"};
  const auto level = [](Bytes) { return 1e-3; };
  const Calibration flat =
      calibrate(read_measurements(test_logs::nccl_tests(test_logs::doublings(8, 4096), level, 8), "f", {}), request);
  CHECK(error_place([&] { calibration_cluster(flat, "x", false, {}, place); }) == "c: --cluster-out");
  const Calibration scattered = calibrate(
      read_measurements(
          test_logs::nccl_tests(test_logs::doublings(8, 4096), two_pieces, 8, "float", "reduce_scatter_perf"), "f", {}),
      request);
  CHECK(error_place([&] { calibration_cluster(scattered, "x", true, {}, place); }) == "c: --cluster-out");
  // Its line can be carried to the all-reduce of which it is a half.
  const Cluster carried = read_cluster(Json::parse(calibration_cluster(scattered, "x", false, {}, place), "x"));
  CHECK(carried.network.measured->collective == "reduce-scatter");
  CHECK(carried.network.collective == "ring");
}
