// The parts of the lower bound, and the time that communication is busy.
#include "tests/catch.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/replay/training/lower_bound.hpp"
#include "sim/studies/search/plan_of.hpp"

using namespace allreplay;

namespace {

constexpr double ms = 1e-3;

// Layers of 2 ms backward and 1 ms forward with a tensor of 4000 B each.
Profile three_layers() {
  Profile profile;
  profile.name = "three";
  for (LayerId layer = 0; layer < 3; ++layer) {
    profile.layers.push_back({"l" + std::to_string(layer), to_time(1 * ms), to_time(2 * ms)});
    profile.tensors.push_back({"t" + std::to_string(layer), 1000, 4000, layer});
  }
  return profile;
}

}  // namespace

TEST_CASE("the bound counts every tensor of the first layer that has one, minus the time that hides them") {
  // Layer 0 (1 + 2 ms) has no tensors, layer 1 (3 + 4 ms) two, of 100 and 300 B, layer 2 (5 + 6 ms) one of 1000 B.
  Profile profile;
  profile.layers = {{"0", to_time(1 * ms), to_time(2 * ms)},
                    {"1", to_time(3 * ms), to_time(4 * ms)},
                    {"2", to_time(5 * ms), to_time(6 * ms)}};
  profile.tensors = {{"1a", 25, 100, 1}, {"1b", 75, 300, 1}, {"2", 250, 1000, 2}};
  const auto bound = [&](double us_per_byte) {
    const LowerBound lower(profile,
                           [&](Bytes bytes) { return to_time(us_per_byte * 1e-6 * static_cast<double>(bytes)); });
    CHECK(lower.first == 1);
    return to_seconds(lower.of(profile)) / ms;
  };
  CHECK(bound(1) == Approx(21));       // 0.4 ms hide behind layer 0's 3 ms: only computing, 21 ms
  CHECK(bound(10) == Approx(18 + 4));  // 400 B take 4 ms
  CHECK(bound(15) == Approx(18 + 6));  // 6 ms; all 1400 B 21 ms
  CHECK(bound(20) == Approx(28));      // all 1400 B take longer than 18 + 8
}

TEST_CASE("a sharded step takes at least the time of its transfers on either of two networks") {
  // Two nodes of two workers that share out the state: gathers inside, at no cost, and between the nodes an all-reduce
  // of half of each gradient, of which two send 2·1/2: 3 · 2000 B at 10 us/B. Then 60 ms, and 9 ms of computing.
  Scenario scenario = scenario_of(three_layers(), "fsdp2", 4, 0, 10e-6);
  scenario.cluster.network.node = NodeLevel{2, 0, 1e-15, 2, {"c.json", "/network/node"}};
  scenario.options.strategy.sharding.shard_group = 2;
  CHECK(*simulate(scenario).metrics.lower_bound_s == Approx(60 * ms));
  // And the same inside, with nothing that takes time between.
  std::swap(scenario.cluster.network.beta, scenario.cluster.network.node->beta);
  CHECK(*simulate(scenario).metrics.lower_bound_s > 60 * ms);
}

TEST_CASE("busy communication is the union of the transfers in flight") {
  // Ring of 2: two start-ups of 1.5 ms and no time per byte, so 3 ms a tensor, ready at 2, 4 and 6 ms.
  const Scenario overlapping = scenario_of(three_layers(), "bytescheduler", 2, 1.5 * ms, 0);
  const Metrics metrics = simulate(overlapping).metrics;  // 2-5, 4-7, 6-9, then three forward layers
  CHECK(metrics.iteration_s / ms == Approx(12));
  CHECK(metrics.comm_busy_s / ms == Approx(7));
  // One after another: 2-5, 5-8, 8-11.
  CHECK(simulate(scenario_of(three_layers(), "wfbp", 2, 1.5 * ms, 0)).metrics.comm_busy_s / ms == Approx(9));
  // With gaps: 2-3, 4-5, 6-7.
  CHECK(simulate(scenario_of(three_layers(), "bytescheduler", 2, 0.5 * ms, 0)).metrics.comm_busy_s / ms == Approx(3));
}
