#include "sim/plans/collective/comm_cost.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

using namespace allreplay;

namespace {

Network links(double alpha, double beta, double gamma) {
  Network network;
  network.alpha = alpha;
  network.beta = beta;
  network.gamma = gamma;
  network.place = {"c.json", "/network"};
  return network;
}

CommCost cost_of(const Network& network, std::string_view name, std::int64_t workers, CollectiveOptions options = {}) {
  return price(network, find_algorithm(name, {}), workers, workers, options);
}

}  // namespace

TEST_CASE("Table 2 of MG-WFBP at N = 8") {
  // α = 10 us, β = 1 ns/B, γ = 0.5 ns/B, M = 1000 B; log 8 = 3, so that:
  const Network network = links(10e-6, 1e-9, 0.5e-9);
  const auto us = [&](std::string_view name, CollectiveOptions options = {}) {
    return to_seconds(cost_of(network, name, 8, options)(1000)) * 1e6;
  };
  CHECK(us("binary-tree") == Approx(60 + 7.5));          // 2·10·3 + (2 + 0.5)·3
  CHECK(us("recursive-doubling") == Approx(30 + 4.5));   // 10·3 + (1 + 0.5)·3
  CHECK(us("halving-doubling") == Approx(60 + 2.1875));  // 2·10·3 + 2 − 2.5/8 + 0.5
  CHECK(us("double-binary-tree") == Approx(60 + 2.5));   // 2·10·3 + 2 + 0.5
  CHECK(us("double-binary-tree", {.tree_bandwidth = TreeBandwidth::Physical}) == Approx(60 + 2.5));
  CHECK(us("ring") == Approx(140 + 2.1875));                           // 2·7·10 + 2·7/8 + 7/8·0.5
  CHECK(us("parameter-server") == Approx(20 + 2.1875));                // 2·10, bytes as the ring
  CHECK(us("parameter-server", {.servers = 1}) == Approx(20 + 17.5));  // 2·7 + 7·0.5: all through one
}

TEST_CASE("logarithms are real-valued if N is not a power of two") {
  CHECK(to_seconds(cost_of(links(1e-6, 0, 0), "recursive-doubling", 6)(1)) == Approx(2.584963e-6).epsilon(1e-7));
}

TEST_CASE("nothing costs nothing: no bytes, or one worker") {
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.coefficients) continue;  // nccl: its own test
    CHECK(cost_of(links(1, 1, 1), algorithm.name, 4)(0) == Time(0));
    CHECK(cost_of(links(1, 1, 1), algorithm.name, 1)(100) == Time(0));
  }
}

TEST_CASE("a measured (a, b) is carried to other sizes and collectives through alpha and beta") {
  Network network;
  network.place = {"c.json", "/network"};
  network.measured = MeasuredCost{"ring", 16, 972e-6, 1.97e-9, 0, network.place / "measured"};
  // At its own size it is what was measured.
  CHECK(to_seconds(cost_of(network, "ring", 16)(1'000'000)) == Approx(972e-6 + 1.97e-3));
  // α = 972 / 30 = 32.4 us; β = 1.97 / (2·15/16) = 1.050667 ns/B. At 64: 126·32.4 us and 2·63/64·β.
  CHECK(to_seconds(cost_of(network, "ring", 64)(1'000'000)) == Approx(4082.4e-6 + 2.0685e-3));
  // Trees at 128: 2·7·32.4 us and β (γ = 0).
  CHECK(to_seconds(cost_of(network, "double-binary-tree", 128)(1'000'000)) ==
        Approx(453.6e-6 + 2 * 1.050667e-3).epsilon(1e-6));
  // γ is part of the measured b: at most b·16/15.
  network.measured->gamma = 3e-9;
  CHECK(error_place([&] { cost_of(network, "ring", 16); }) == "c.json: /network/measured/gamma");
}

TEST_CASE("a measured table is linear between its sizes") {
  Network network;
  network.place = {"c.json", "/network"};
  network.table = {{1000, 10e-6}, {2000, 30e-6}, {4000, 40e-6}};
  const CommCost cost = price(network, find_algorithm("ring", {}), 8, 8, {});
  CHECK(cost(1) == to_time(10e-6));  // below: the first time
  CHECK(cost(1500) == to_time(20e-6));
  CHECK(cost(3000) == to_time(35e-6));
  CHECK(cost(8000) == to_time(60e-6));  // beyond: the last slope, 5 ns/B
  // Least time per byte up to M: 10 ns/B at 1000 B, 10 ns/B at 4000 B, 7.5 ns/B at 8000 B.
  CHECK(cost.least(2000) == to_time(20e-6));
  CHECK(cost.least(8000) == to_time(60e-6));
  CHECK(cost.at_best(1000) == to_time(5e-6));  // as steep as far beyond the last
  CHECK(error_place([&] { price(network, find_algorithm("ring", {}), 16, 8, {}); }) == "c.json: /network/table");
}

TEST_CASE("costs that beat the wire are noticed") {
  Network network = links(0, 0.74e-9, 0);
  network.line_rate = 1.25e9;  // 10 Gbit/s: 0.8 ns/B
  CHECK_FALSE(implausible(network, find_algorithm("ring", {}), 16, {}).empty());
  network.beta = 0.81e-9;
  CHECK(implausible(network, find_algorithm("ring", {}), 16, {}).empty());
  CHECK(implausible(network, find_algorithm("double-binary-tree", {}), 16, {.tree_bandwidth = TreeBandwidth::Paper})
            .find("tree_bandwidth=physical") != std::string::npos);
  CHECK(implausible(network, find_algorithm("double-binary-tree", {}), 16, {}).empty());
}

TEST_CASE("an unknown collective suggests the nearest") {
  CHECK(error_place([] { find_algorithm("rings", {"f", "/x"}); }) == "f: /x");
}
