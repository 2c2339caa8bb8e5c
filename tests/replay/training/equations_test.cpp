// Replays against the equations of the MG-WFBP paper, worked out here a second time.
#include <algorithm>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/plans/schedule/gradients.hpp"
#include "sim/studies/search/plan_of.hpp"

using namespace allreplay;

namespace {

// Ring of two: a = 2α, b = β.
constexpr double alpha = 100e-6, beta = 2e-9;
const CommCost cost(2 * alpha, beta);

Time compute(const Profile& profile) { return profile.forward() + profile.backward(); }

// Eq. 7 and 8: τ_c of each gradient, then the end of the last.
Time wfbp_equation(const Profile& profile) {
  Time tau{0}, before{0};
  for (const Gradient& gradient : gradients(profile)) {
    tau = std::max(before, profile.forward() + gradient.ready);
    before = tau + cost(gradient.bytes);
  }
  return std::max(before, compute(profile));
}

double iteration(const Profile& profile, std::string_view strategy) {
  return simulate(scenario_of(profile, strategy, 2, alpha, beta)).metrics.iteration_s;
}

}  // namespace

TEST_CASE("replayed iterations equal the paper's equations") {
  Random random(11, 0);
  for (int round = 0; round < 300; ++round) {
    const Profile profile = random_profile(random, 10);
    REQUIRE(iteration(profile, "wfbp") == to_seconds(wfbp_equation(profile)));
    // Eq. 3: everything after the backward pass, one by one.
    Time serial = compute(profile);
    for (const Tensor& tensor : profile.tensors) serial += cost(tensor.bytes);
    REQUIRE(iteration(profile, "s-sgd") == to_seconds(serial));
    // Eq. 9, where the first layer has tensors; otherwise the layers before it hide a part.
    const Time ready = gradients(profile).back().ready;
    const Time single = std::max(profile.forward() + ready + cost(profile.bytes()), compute(profile));
    REQUIRE(iteration(profile, "sync-easgd") == to_seconds(single));
    if (profile.tensors.front().layer == 0) REQUIRE(single == compute(profile) + cost(profile.bytes()));
  }
}

TEST_CASE("optimal-merge is never slower than mg-wfbp, nor that than wfbp and sync-easgd") {
  Random random(12, 0);
  for (int round = 0; round < 200; ++round) {
    const Profile profile = random_profile(random, 12);
    const double optimum = iteration(profile, "optimal-merge"), merged = iteration(profile, "mg-wfbp");
    REQUIRE(optimum <= merged);
    REQUIRE(merged <= iteration(profile, "wfbp"));
    REQUIRE(merged <= iteration(profile, "sync-easgd"));
  }
}

TEST_CASE("metrics of a case worked out by hand") {
  // One layer: F = 10 us, B = 30 us, 100,000 B. T = 200 us + 200 us. t_iter = 40 + 400 us.
  Profile profile;
  profile.layers = {{"l", to_time(10e-6), to_time(30e-6)}};
  profile.tensors = {{"t", 25'000, 100'000, 0}};
  profile.batch_size = 11;
  const Result result = simulate(scenario_of(profile, "wfbp", 2, alpha, beta));
  const Metrics& m = result.metrics;
  CHECK(m.iteration_s == Approx(440e-6));
  CHECK(m.exposed_comm_s == Approx(400e-6));
  CHECK(m.comm_busy_s == Approx(400e-6));
  CHECK(m.collectives == 1);
  CHECK(m.speedup == Approx(2 * 40. / 440));
  CHECK(m.efficiency == Approx(40. / 440));
  CHECK(*m.samples_per_s == Approx(22 / 440e-6));
  CHECK(*m.lower_bound_s == Approx(440e-6));
}

TEST_CASE("one worker communicates nothing, even with a tick") {
  Random random(13, 0);
  for (const Strategy& strategy : strategies()) {
    if (strategy.local_steps) continue;  // local_sgd_test.cpp
    const Profile profile = random_profile(random, 6);
    const Metrics metrics = simulate(scenario_of(profile, strategy.name, 1, 1, 1)).metrics;
    CHECK(metrics.iteration_s == to_seconds(compute(profile)));
    CHECK(metrics.collectives == 0);
    CHECK(metrics.comm_busy_s == 0);
    CHECK(metrics.efficiency == Approx(1));
  }
}

TEST_CASE("horovod's blocks are ready at ticks, and sent without waiting for more") {
  // Two layers of B = 3 ms, ticks of 5 ms: ready at 3 and 6, at the ticks 5 and 10; each takes 8 ms: 5 to 13, and
  // immediately 13 to 21, which is not a tick. F = 2 ms each: 25 ms.
  Profile profile;
  profile.layers = {{"in", to_time(2e-3), to_time(3e-3)}, {"out", to_time(2e-3), to_time(3e-3)}};
  profile.tensors = {{"t", 250, 1000, 0}, {"u", 250, 1000, 1}};
  Scenario scenario = scenario_of(profile, "horovod", 2, 4e-3, 0);
  scenario.options.strategy.cycle = to_time(5e-3);
  CHECK(simulate(scenario).metrics.iteration_s == Approx(25e-3));
  // A worker that computes more slowly than the plan believes: gradients at 6 and 12, ticks at 10 and 15.
  const Plan plan = plan_of(scenario);
  scenario.stragglers.slow = {{1, 2.0}};
  CHECK(simulate(scenario, plan).metrics.iteration_s == Approx(34e-3));  // 10 to 18, 18 to 26; F = 4 each
}
