#include "sim/studies/calibration/level_fit.hpp"

#include <cmath>

#include "tests/catch.hpp"

#include "sim/plans/collective/network_change.hpp"

using namespace allreplay;

namespace {

// A log whose times are what the network asks for.
Calibration log_of(const Network& network, std::string_view collective, std::int64_t workers,
                   CollectiveOp operation = CollectiveOp::AllReduce, CollectiveOp op = CollectiveOp::AllReduce,
                   Bytes from = 1 << 10) {
  const Algorithm& algorithm = find_algorithm(collective, {});
  const OpCosts costs = price_ops(network, algorithm, workers, workers, {});
  MeasurementLog log{.file = "log", .operation = operation, .workers = workers};
  for (Bytes bytes = from; bytes <= 1 << 30; bytes *= 2) log.points.push_back({bytes, to_seconds(costs[op](bytes))});
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

TEST_CASE("the bandwidth of ports that are not a bottleneck is not determined") {
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
  truth.nccl->network = {{0.7, 2}};
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
  // No rendezvous was there, nor a size at which a tree runs in Simple or LL128.
  CHECK(node.warnings.empty());
  CHECK_FALSE(fit.known[rendezvous_time]);
  CHECK_FALSE(fit.network.nccl->rendezvous.has_value());
  CHECK((fit.network.nccl->ll128 && fit.network.nccl->two_node_tree));
  // If the log is of another machine, no factor on a link explains it.
  truth.nccl->network = {{0.7, 32}};
  const std::vector<Calibration> far{inside, log_of(truth, "nccl", 32)};
  const LevelFit none = fit_levels(far, start);
  CHECK(none.factors[3] == Approx(32).epsilon(1e-2));
  CHECK(!none.warnings.empty());
  Network started = start;
  started.alpha = 1e-6;
  Network farther = started;
  farther.nccl->network.latency = 32;
  const LevelFit no_link = fit_levels(std::vector<Calibration>{log_of(farther, "nccl", 32)}, started);
  CHECK(!no_link.warnings.empty());
  // A reduce-scatter by itself.
  const std::vector<Calibration> half{
      log_of(truth, "nccl", 8, CollectiveOp::ReduceScatter, CollectiveOp::ReduceScatter)};
  CHECK(fit_levels(half, start).factors[0] == Approx(0.9).epsilon(1e-3));
}

TEST_CASE("corrections to NCCL's tuner between nodes are recovered") {
  // Nodes of 4 with ports of 24 GB/s: trees at half of their bandwidth, LL at 0.15 of it, a rendezvous of 14 us from
  // 2 KiB on, and no LL128.
  Network truth;
  truth.alpha = 0;
  truth.beta = 1 / 24e9;
  truth.node = NodeLevel{.workers = 4, .alpha = 0, .beta = 1 / 360e9, .rails = 4};
  truth.nccl = NcclSetup{.gpu = NcclSetup::Gpu::Hopper};
  const Network start = truth;
  truth.nccl->ll128 = false;
  truth.nccl->rendezvous = NcclRendezvous{2048, 14e-6};
  truth.nccl->network.tree = 0.5;
  truth.nccl->network.ll = 0.15;
  const std::vector<Calibration> logs{log_of(truth, "nccl", 8), log_of(truth, "nccl", 16), log_of(truth, "nccl", 64)};
  const LevelFit fit = fit_levels(logs, start);
  CHECK_FALSE(fit.network.nccl->ll128);
  CHECK(fit.network.nccl->two_node_tree);
  REQUIRE(fit.network.nccl->rendezvous.has_value());
  CHECK(fit.network.nccl->rendezvous->time == Approx(14e-6).epsilon(0.02));
  CHECK(fit.network.nccl->network.tree == Approx(0.5).epsilon(0.02));
  CHECK(fit.network.nccl->network.ll == Approx(0.15).epsilon(0.02));
  CHECK(fit.median < 0.01);
  CHECK((fit.ll128_known && fit.two_node_tree_known));
  // Without a log of two nodes nothing is known of their tree.
  const LevelFit four =
      fit_levels(std::vector<Calibration>{log_of(truth, "nccl", 16), log_of(truth, "nccl", 64)}, start);
  CHECK_FALSE(four.two_node_tree_known);
  CHECK(four.known[rendezvous_time]);
  // If every size waits for a rendezvous, the start-up beyond the cluster's own belongs to the rendezvous.
  const auto large = [&](std::int64_t workers) {
    return log_of(truth, "nccl", workers, CollectiveOp::AllReduce, CollectiveOp::AllReduce, 1 << 12);
  };
  const LevelFit both = fit_levels(std::vector<Calibration>{large(16), large(64)}, start);
  CHECK_FALSE(both.known[latency_outside]);
  CHECK(both.factors[latency_outside] == 1);
  REQUIRE(both.network.nccl->rendezvous.has_value());
  CHECK(both.network.nccl->rendezvous->time == Approx(14e-6).epsilon(0.05));
  CHECK(!both.warnings.empty());
  // Four nodes, from 1 MiB on, with noise of 5 %: only the bandwidth between nodes is determined, and the latency is
  // the cluster's.
  std::vector<Calibration> noisy{log_of(truth, "nccl", 16, CollectiveOp::AllReduce, CollectiveOp::AllReduce, 1 << 20)};
  for (std::size_t i = 0; i < noisy[0].log.points.size(); ++i)
    noisy[0].log.points[i].seconds *= i % 2 == 0 ? 1.05 : 0.95;
  const LevelFit large_sizes = fit_levels(noisy, start);
  CHECK(large_sizes.known[bandwidth_outside]);
  CHECK(large_sizes.factors[bandwidth_outside] == Approx(1).epsilon(0.1));
  CHECK(large_sizes.factors[latency_outside] == 1);
  // Two nodes whose trees send as much as rings.
  truth.nccl = start.nccl;
  truth.nccl->two_node_tree = false;
  const LevelFit two = fit_levels(std::vector<Calibration>{log_of(truth, "nccl", 8)}, start);
  CHECK_FALSE(two.network.nccl->two_node_tree);
  CHECK(two.median < 0.01);
}

TEST_CASE("constants that compensate for each other within the noise are not determined") {
  // A ring's α and β if all sizes are nearly equal: 2(N-1)α + 2(N-1)/N·β·M is one number, but for a thousandth of M.
  // Noise of 5 %, up and down in turn, hides that.
  const Network truth = two_levels();
  std::vector<Calibration> logs{log_of(truth, "ring", 8), log_of(truth, "ring", 64)};
  const double at = logs[1].log.points[10].seconds;
  logs[1].log.points.clear();
  for (int i = 0; i < 20; ++i) logs[1].log.points.push_back({(1 << 20) + 100 * i, at * (i % 2 == 0 ? 1.05 : 0.95)});
  Network start;
  start.node = NodeLevel{.workers = 8, .rails = 4};
  const LevelFit fit = fit_levels(logs, start);
  CHECK((fit.known[bandwidth_inside] && fit.known[latency_inside]));
  CHECK((!fit.known[bandwidth_outside] && !fit.known[latency_outside]));
  REQUIRE(fit.warnings.size() == 1);
  CHECK(fit.warnings[0].starts_with(
      "these logs cannot separate the bandwidth between nodes and the start-up between nodes"));
}

TEST_CASE("a bandwidth between nodes that falls with their number is found again") {
  Network truth = two_levels();
  truth.beta_of_nodes = {{2, 0.05e-9}, {4, 0.1e-9}, {8, 0.2e-9}};
  const auto log_at = [&](std::int64_t workers, const char* collective) {
    Network there = truth;
    settle_by_nodes(there, workers);
    return log_of(there, collective, workers);
  };
  Network start;
  start.node = NodeLevel{.workers = 8, .rails = 4};
  const std::vector<Calibration> logs{log_at(8, "ring"), log_at(16, "ring"), log_at(32, "ring"), log_at(64, "ring")};
  const LevelFit fit = fit_levels(logs, start);
  REQUIRE(fit.by_nodes);
  REQUIRE(fit.network.beta_of_nodes.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(fit.network.beta_of_nodes[i].nodes == truth.beta_of_nodes[i].nodes);
    CHECK(fit.network.beta_of_nodes[i].value == Approx(truth.beta_of_nodes[i].value).epsilon(0.1));
  }
  // One bandwidth for all needs no list.
  truth.beta_of_nodes.clear();
  const std::vector<Calibration> even{log_at(8, "ring"), log_at(16, "ring"), log_at(64, "ring")};
  CHECK_FALSE(fit_levels(even, start).by_nodes);
}
