#include "sim/calibration/level_fit.hpp"

#include <cmath>

#include "tests/catch.hpp"

using namespace allreplay;

namespace {

// A log whose times are what the network asks for.
Calibration log_of(const Network& network, std::string_view collective, std::int64_t workers,
                   Purpose purpose = Purpose::AllReduce, CollectiveOp op = CollectiveOp::AllReduce) {
  const Algorithm& algorithm = find_algorithm(collective, {});
  const OpCosts costs = price_ops(network, algorithm, workers, workers, {});
  MeasurementLog log{.file = "log", .purpose = purpose, .workers = workers};
  for (Bytes bytes = 1 << 10; bytes <= 1 << 30; bytes *= 2) log.points.push_back({bytes, to_seconds(costs[op](bytes))});
  CalibrationRequest request;
  request.algorithm = &algorithm;
  return calibrate(std::move(log), request);
}

Network two_levels() {
  Network network;
  network.alpha = 9e-6;
  network.beta = 0.05e-9;
  network.node = NodeLevel{.workers = 8, .alpha = 2e-6, .beta = 0.004e-9, .rails = 4};
  return network;
}

}  // namespace

TEST_CASE("the levels that made the logs are found again") {
  const Network truth = two_levels();
  for (const auto* const name : {"ring", "hierarchical"}) {
    INFO(name);
    const std::vector<Calibration> logs{log_of(truth, name, 8), log_of(truth, name, 16), log_of(truth, name, 64)};
    Network start;
    start.node = NodeLevel{.workers = 8, .rails = 4};
    const LevelFit fit = fit_levels(logs, start);
    CHECK(*fit.network.node->alpha == Approx(2e-6).epsilon(1e-3));
    CHECK(*fit.network.node->beta == Approx(0.004e-9).epsilon(1e-3));
    CHECK(*fit.network.alpha == Approx(9e-6).epsilon(1e-3));
    CHECK(*fit.network.beta == Approx(0.05e-9).epsilon(1e-3));
    CHECK(fit.median < 1e-3);
    CHECK((fit.errors.size() == 3 && fit.errors[2].nodes == 8));
    CHECK(fit.warnings.empty());
  }
}

TEST_CASE("ports that are no bottleneck are not known") {
  Network truth = two_levels();
  truth.beta = 0.004e-9;  // a quarter of it between nodes, for 4 rings: less than inside
  const std::vector<Calibration> logs{log_of(truth, "ring", 8), log_of(truth, "ring", 16)};
  Network start;
  start.node = NodeLevel{.workers = 8, .rails = 4};
  const LevelFit fit = fit_levels(logs, start);
  CHECK_FALSE(fit.known[2]);
  CHECK((fit.known[0] && fit.known[1] && fit.known[3]));
  CHECK(fit.warnings.size() == 1);
}

TEST_CASE("NCCL's factors are found again, of a level or of both") {
  Network truth = two_levels();
  truth.alpha = 0;
  truth.beta = 1 / 25e9;
  truth.node->beta = 1 / 240e9;
  truth.nccl = NcclSetup{.gpu = NcclSetup::Gpu::Ampere};
  const Network start = truth;
  truth.nccl->node = {0.9, 1.5};
  truth.nccl->network = {0.7, 2};
  const Calibration inside = log_of(truth, "nccl", 8), across = log_of(truth, "nccl", 32);
  const std::vector<Calibration> both{inside, across}, one{inside};
  const LevelFit fit = fit_levels(both, start);
  CHECK(fit.factors[0] == Approx(0.9).epsilon(1e-3));
  CHECK(fit.factors[1] == Approx(1.5).epsilon(1e-3));
  CHECK(fit.factors[2] == Approx(0.7).epsilon(1e-3));
  CHECK(fit.factors[3] == Approx(2).epsilon(1e-3));
  const LevelFit node = fit_levels(one, start);
  CHECK(node.factors[0] == Approx(0.9).epsilon(1e-3));
  CHECK(node.factors[1] == Approx(1.5).epsilon(1e-3));
  CHECK((!node.known[2] && !node.known[3] && node.factors[2] == 1));
  CHECK((fit.warnings.empty() && node.warnings.empty()));
  // Where the log is of something else, no factor makes a link of it.
  truth.nccl->network = {0.7, 32};
  const std::vector<Calibration> far{inside, log_of(truth, "nccl", 32)};
  const LevelFit none = fit_levels(far, start);
  CHECK(none.factors[3] == Approx(32).epsilon(1e-2));
  REQUIRE(none.warnings.size() == 1);
  CHECK(none.warnings[0].find("start-up between nodes is x 32") != std::string::npos);
  CHECK(none.warnings[0].find("no such link exists") != std::string::npos);
  // A reduce-scatter by itself.
  const std::vector<Calibration> half{log_of(truth, "nccl", 8, Purpose::ReduceScatter, CollectiveOp::ReduceScatter)};
  CHECK(fit_levels(half, start).factors[0] == Approx(0.9).epsilon(1e-3));
}
