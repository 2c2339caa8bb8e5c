#include "sim/studies/calibration/calibration.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/studies/calibration/logs.hpp"

#include "sim/plans/collective/comm_cost.hpp"

using namespace allreplay;
using namespace test_logs;

namespace {

const std::vector<Bytes> sizes = doublings(8, 256 << 20);

CalibrationRequest as(std::string_view collective) {
  CalibrationRequest request;
  if (!collective.empty()) request.algorithm = &find_algorithm(collective, {});
  request.place_of_collective = {"c", "--collective"};
  request.place_of_options = {"c", "--option"};
  request.place_of_gamma = {"c", "--gamma"};
  request.place_of_range = {"c", "--from"};
  return request;
}

MeasurementLog log_of(const Law& law, std::int64_t workers = 8, const std::string& program = "all_reduce_perf") {
  return read_measurements(nccl_tests(sizes, law, static_cast<int>(workers), "float", program), "f", {});
}

double law(Bytes bytes) { return 140e-6 + 2e-9 * static_cast<double>(bytes); }

}  // namespace

TEST_CASE("alpha and beta by the algorithm's coefficients") {
  // Ring among 8: α = 140 us / 14, β = 2 / (2·7/8) ns/B.
  const Calibration ring = calibrate(log_of(law), as("ring"));
  CHECK(ring.line.a == Approx(140e-6).epsilon(1e-9));
  CHECK(ring.line.b == Approx(2e-9).epsilon(1e-9));
  CHECK(ring.alpha == Approx(10e-6).epsilon(1e-9));
  CHECK(ring.beta == Approx(2e-9 * 8 / 14).epsilon(1e-9));
  // With γ = 0.4 ns/B: β = (2 − 7/8·0.4)/(14/8).
  CalibrationRequest reducing = as("ring");
  reducing.gamma = 0.4e-9;
  CHECK(calibrate(log_of(law), reducing).beta == Approx((2e-9 - 0.875 * 0.4e-9) * 8 / 14).epsilon(1e-9));
  // Recursive doubling: log 8 = 3 of each. Double binary trees: 2·3 α; β as printed, or twice with physical trees.
  const Calibration doubling = calibrate(log_of(law), as("recursive-doubling"));
  CHECK(doubling.alpha == Approx(140e-6 / 3).epsilon(1e-9));
  CHECK(doubling.beta == Approx(2e-9 / 3).epsilon(1e-9));
  CalibrationRequest trees = as("double-binary-tree");
  trees.options.tree_bandwidth = TreeBandwidth::Physical;
  CHECK(calibrate(log_of(law), trees).beta == Approx(1e-9).epsilon(1e-9));
}

TEST_CASE("fitted constants reproduce the measured times") {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.operation != CollectiveOp::AllReduce || !algorithm.coefficients) continue;
    const Calibration fitted = calibrate(log_of(law, 16), as(algorithm.name));
    Network links;
    links.alpha = fitted.alpha;
    links.beta = fitted.beta;
    const CommCost cost = price(links, algorithm, 16, 16, {});
    for (const Bytes bytes : sizes) CHECK(to_seconds(cost(bytes)) == Approx(law(bytes)).epsilon(1e-7));
  }
}

TEST_CASE("the log's benchmark decides which collectives there may be") {
  CHECK(calibrate(log_of(law), as("")).algorithm->name == "ring");
  const MeasurementLog gathered = log_of(law, 8, "all_gather_perf");
  // nccl-tests' size is the sum of all eight payloads; ours is one: T = 140 us + 2 ns/B · 8 · payload.
  const Calibration fitted = calibrate(gathered, as(""));
  CHECK(fitted.algorithm->name == "all-gather");
  CHECK(fitted.line.b == Approx(16e-9).epsilon(1e-9));
  CHECK(fitted.largest() == sizes.back() / 8);
  CHECK(error_place([&] { calibrate(gathered, as("ring")); }) == "c: --collective");
}

TEST_CASE("a range of sizes, and the rows that remain") {
  const auto two = [](Bytes m) { return m <= 65536 ? 1e-6 + 2e-9 * static_cast<double>(m) : law(m); };
  CalibrationRequest request = as("ring");
  request.from = 131072;
  const Calibration upper = calibrate(log_of(two), request);
  CHECK(upper.line.a == Approx(140e-6).epsilon(1e-9));
  CHECK(upper.overall.rows == 12);  // 128 KiB to 256 MiB
  CHECK_FALSE(upper.table_is_better);
  CHECK(calibrate(log_of(two), as("ring")).table_is_better);
  request.to = 131072;
  CHECK(error_place([&] { calibrate(log_of(two), request); }) == "c: --from");
  request.to = 140000;
  request.from = 132000;
  CHECK(error_place([&] { calibrate(log_of(two), request); }) == "c: --from");
  const MeasurementLog one = read_measurements("bytes,time_us\n8,1\n8,2\n", "f", {.workers = 4});
  CHECK(error_place([&] { calibrate(one, as("ring")); }) == "f");
}

TEST_CASE("errors by decade of size") {
  // 10 % above the law at 100 B only. The line through 12 exact rows stays; errors are relative to what was measured.
  MeasurementLog log = read_measurements(
      "bytes,time_us\n1,11\n2,12\n3,13\n4,14\n5,15\n6,16\n7,17\n8,18\n20,30\n30,40\n100,121\n", "f", {.workers = 4});
  const Calibration fitted = calibrate(log, as("ring"));  // 10 us + 1 us/B
  REQUIRE(fitted.decades.size() == 3);
  CHECK(fitted.decades[0].rows == 8);
  CHECK(fitted.decades[0].line_worst == Approx(0).margin(1e-6));
  CHECK(fitted.decades[1].rows == 2);
  CHECK(fitted.decades[2].line_median == Approx(11.0 / 121).epsilon(1e-4));
  CHECK(fitted.overall.rows == 11);
  CHECK(fitted.overall.line_worst == Approx(11.0 / 121).epsilon(1e-4));
  CHECK(fitted.overall.line_median == Approx(0).margin(1e-6));
  CHECK(fitted.time_of_largest(false) == Approx(110e-6));  // of 100 B, by the line
  const MeasurementLog gap = read_measurements("bytes,time_us\n1,11\n2,12\n200,210\n", "f", {.workers = 4});
  CHECK(calibrate(gap, as("ring")).decades.size() == 2);  // none of 10 to 99 B
}

TEST_CASE("the median of two errors is the middle between them") {
  // 10 and 20 % above the law at the two largest sizes; the line through the 23 exact rows below stays.
  const auto off = [](Bytes bytes) {
    const auto above = [&](Bytes size) { return bytes == size; };
    return law(bytes) * (above(128 << 20) ? 1.1 : above(256 << 20) ? 1.2 : 1);
  };
  CalibrationRequest request = as("ring");
  const Calibration fitted = calibrate(log_of(off), request);
  const RelativeErrors& last = fitted.decades.back();
  REQUIRE(last.rows == 2);  // from 100 MB on
  const double line_128 = fitted.line.a + fitted.line.b * 0x1p27, line_256 = fitted.line.a + fitted.line.b * 0x1p28;
  const double one = std::abs(line_128 / off(128 << 20) - 1), other = std::abs(line_256 / off(256 << 20) - 1);
  CHECK(last.line_median == Approx((one + other) / 2));
  CHECK(last.line_worst == Approx(std::max(one, other)));
}

TEST_CASE("constants that are impossible for the link cause a warning") {
  CalibrationRequest request = as("ring");
  request.line_rate = 1.25e9;  // 0.8 ns/B; the ring's β is 1.143
  CHECK(calibrate(log_of(law), request).warnings.empty());
  request.line_rate = 0.5e9;  // 2 ns/B
  CHECK(calibrate(log_of(law), request).warnings.size() == 1);
  CHECK(calibrate(log_of([](Bytes) { return 1e-3; }), as("ring")).warnings.size() == 1);
}

TEST_CASE("gamma must not exceed its part of b, nor servers the workers") {
  CalibrationRequest request = as("ring");
  request.gamma = 3e-9;  // 7/8·3 > 2
  CHECK(error_place([&] { calibrate(log_of(law), request); }) == "c: --gamma");
  CalibrationRequest servers = as("parameter-server");
  servers.options.servers = 9;
  CHECK(error_place([&] { calibrate(log_of(law), servers); }) == "c: --option");
}
