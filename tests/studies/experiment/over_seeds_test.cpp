#include "sim/studies/experiment/over_seeds.hpp"

#include <cmath>
#include <map>
#include <tuple>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/studies/experiment/run.hpp"

using namespace allreplay;

namespace {

Scenario jittering(Profile profile, const char* strategy, std::int64_t micro_batches = 1) {
  Scenario scenario = scenario_of(std::move(profile), strategy, 4, 50e-6, 1e-9);
  scenario.stragglers.jitter = Jitter{JitterKind::LogNormal, 0.1, 3};
  scenario.options.iterations = 4;
  scenario.options.strategy.sharding.accumulate = micro_batches;
  return scenario;
}

// The factors that the passes of the last iteration drew, by worker, pass, layer and micro-batch.
auto factors_of(const Result& result) {
  std::map<std::tuple<std::int64_t, Activity, std::uint32_t, std::uint32_t>, double> factors;
  const Unrolled& all = result.unrolled;
  for (TaskId id = 0; id < all.labels.size(); ++id) {
    const Label& label = all.labels[id];
    if (!is_pass(label.kind) || all.nominal[id] == Time(0)) continue;
    const WorkerClass& one = result.classes[label.worker_class];
    factors[{one.workers.front(), label.kind, label.item, label.micro_batch}] =
        to_seconds(all.graph.tasks()[id].duration) / to_seconds(all.nominal[id]) / one.slowdown;
  }
  return factors;
}

}  // namespace

TEST_CASE("at one seed all strategies draw the same factors for the same passes") {
  Random random(71, 0);
  for (const std::int64_t micro_batches : {1, 3}) {
    Profile profile = random_profile(random, 6);
    profile.update = to_time(1e-3);
    const auto expected = factors_of(run(jittering(profile, "s-sgd", micro_batches)).result);
    CHECK(expected.size() >= 4 * static_cast<std::size_t>(micro_batches));
    for (const char* strategy : {"wfbp", "ddp", "zero-1", "zero-2", "zero-3", "fsdp2", "megatron"})
      for (const bool slowed : {false, true}) {  // by a worker and by communication, so that no batch replays them
        Scenario scenario = jittering(profile, strategy, micro_batches);
        if (slowed) scenario.stragglers.slow = {{2, 1.5}};
        if (slowed) scenario.cluster.interference = Interference{.compute = 1.2};
        const auto drawn = factors_of(run(std::move(scenario)).result);
        INFO(strategy);
        REQUIRE(drawn.size() == expected.size());
        for (const auto& [pass, factor] : expected) REQUIRE(drawn.at(pass) == Approx(factor).epsilon(1e-5));  // ps
      }
  }
}

TEST_CASE("common draws make differences between strategies sharper than draws of their own") {
  Random random(72, 0);
  Profile profile = random_profile(random, 8);
  std::vector<std::vector<double>> by_seed;
  for (const char* strategy : {"wfbp", "zero-3"}) {
    Scenario scenario = jittering(profile, strategy);
    scenario.seeds = parse_seeds("1:12", {});
    by_seed.push_back(run(std::move(scenario)).result.by_seed);
  }
  const Summary difference = *paired_difference(by_seed[1], by_seed[0]);
  CHECK(difference.mean == Approx(summary_of(by_seed[1]).mean - summary_of(by_seed[0]).mean).epsilon(1e-9));
  // With independent draws, the variances would add up.
  const double of_independent = std::hypot(*summary_of(by_seed[0]).confidence, *summary_of(by_seed[1]).confidence);
  CHECK(*difference.confidence < 0.75 * of_independent);
  CHECK(!paired_difference(by_seed[0], {}));
  CHECK(!paired_difference({1.0}, {2.0}));
}

TEST_CASE("several seeds are the mean of each alone, one seed is that to the bit") {
  Random random(73, 0);
  const Profile profile = random_profile(random, 6);
  for (const char* strategy : {"wfbp", "fsdp2"}) {
    double sum = 0, exposed = 0;
    for (const std::uint64_t seed : {5, 6, 9}) {
      Scenario alone = jittering(profile, strategy);
      alone.stragglers.spread = Spread{JitterKind::Normal, 0.05, seed};
      alone.stragglers.jitter->seed = seed;
      const Metrics expected = run(alone).result.metrics;
      sum += expected.iteration_s;
      exposed += expected.exposed_comm_s;
      alone.stragglers.spread->seed.reset();
      alone.stragglers.jitter->seed = 1;
      alone.seeds = {seed};
      const Result one = run(alone).result;
      CHECK(one.metrics.iteration_s == expected.iteration_s);
      CHECK(one.metrics.exposed_comm_s == expected.exposed_comm_s);
      CHECK(one.metrics.samples_per_s == expected.samples_per_s);
      CHECK(one.by_seed == std::vector{expected.iteration_s});
    }
    Scenario all = jittering(profile, strategy);
    all.stragglers.spread = Spread{JitterKind::Normal, 0.05, {}};
    all.seeds = {5, 6, 9};
    const Result mean = run(all).result;
    CHECK(mean.metrics.iteration_s == Approx(sum / 3).epsilon(1e-14));
    CHECK(mean.metrics.exposed_comm_s == Approx(exposed / 3).epsilon(1e-12));
    CHECK(mean.by_seed.size() == 3);
  }
}

TEST_CASE("if nothing is random, one simulation answers for all seeds") {
  Random random(74, 0);
  Scenario scenario = scenario_of(random_profile(random, 6), "ddp", 4, 50e-6, 1e-9);
  const double expected = run(scenario).result.metrics.iteration_s;
  scenario.seeds = parse_seeds("1:20", {});
  CHECK(!is_random(scenario));
  CHECK(each_seed(scenario).size() == 1);
  const Result result = run(scenario).result;
  CHECK(result.metrics.iteration_s == expected);
  CHECK(result.by_seed == std::vector<double>(20, expected));
  scenario.stragglers.jitter = Jitter{};  // sigma 0
  CHECK(!is_random(scenario));
  scenario.stragglers.jitter->sigma = 0.1;
  CHECK(each_seed(scenario).size() == 20);
}

TEST_CASE("seeds are read from ranges and lists") {
  CHECK(parse_seeds("7", {}) == std::vector<std::uint64_t>{7});
  CHECK(parse_seeds("0:3", {}) == std::vector<std::uint64_t>{0, 1, 2, 3});
  CHECK(parse_seeds("5,1:2,9", {}) == std::vector<std::uint64_t>{5, 1, 2, 9});
  for (const char* wrong : {"", "x", "1:", ":3", "3:1", "1,1", "1:5,3", "-1", "1.5", "1:20000", "1:2:3", "1,"})
    CHECK_THROWS_AS(parse_seeds(wrong, {}), InputError);
}
