#include "sim/studies/search/best.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/plans/schedule/needs.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/replay/training/sharding.hpp"
#include "sim/studies/search/plan_of.hpp"

using namespace allreplay;

namespace {

Scenario random_scenario(Random& random) {
  const double alpha = static_cast<double>(random.below(300)) * 1e-6,
               beta = static_cast<double>(random.below(30)) * 1e-10;
  Scenario scenario =
      scenario_of(random_profile(random, 12), "best", static_cast<std::int64_t>(2 + random.below(7)), alpha, beta);
  if (random.below(4) == 0) scenario.stragglers.slow = {{1, 1 + static_cast<double>(random.below(100)) / 100}};
  if (random.below(2) == 0) scenario.options.strategy.partition = static_cast<Bytes>(100'000 + random.below(4'000'000));
  if (random.below(2) == 0) scenario.options.strategy.credit.count = static_cast<std::int64_t>(1 + random.below(8));
  scenario.options.strategy.bucket_cap = scenario.options.strategy.threshold =
      static_cast<Bytes>(1 + random.below(8'000'000));
  scenario.options.sharing = random.below(2) == 0 ? Sharing::Serial : Sharing::Fair;
  return scenario;
}

void check_never_worse(const Scenario& scenario) {
  const Result best = simulate(scenario);
  CHECK(best.plan.strategy == "best");
  REQUIRE(best.metrics.iteration_s >=
          *best.metrics.lower_bound_s - 1e-12 * static_cast<double>(best.metrics.collectives));
  for (const Strategy& strategy : strategies()) {
    Scenario other = scenario;
    other.strategy = &strategy;
    if (strategy.local_steps || !is_compatible(other)) continue;  // with the stage, or the barrier
    INFO(strategy.name);
    REQUIRE(best.metrics.iteration_s <= simulate(other).metrics.iteration_s);
  }
}

// Any slices in any order, one at a time or several.
Plan random_plan(Random& random, const Profile& profile) {
  BucketSchedule plan;
  for (TensorId tensor = 0; tensor < profile.tensors.size(); ++tensor)
    for (Bytes sent = 0; sent < profile.tensors[tensor].bytes;) {
      const Bytes left = profile.tensors[tensor].bytes - sent;
      const Bytes bytes =
          random.below(2) == 0 ? left : static_cast<Bytes>(1 + random.below(static_cast<std::uint64_t>(left)));
      plan.blocks.push_back({{{tensor, sent, bytes}}, static_cast<std::int64_t>(random.below(10))});
      sent += bytes;
    }
  for (std::size_t left = plan.blocks.size(); left > 1; --left)
    std::swap(plan.blocks[left - 1], plan.blocks[random.below(left)]);
  plan.order = static_cast<Order>(random.below(3));
  plan.window.count = static_cast<std::int64_t>(1 + random.below(6));
  plan.barrier = random.below(4) == 0 ? Barrier::Iteration : Barrier::Layer;
  return expand(std::move(plan), profile);
}

}  // namespace

TEST_CASE("best is never worse than any other strategy with the same options") {
  Random random(61, 0);
  for (int round = 0; round < 30; ++round) check_never_worse(random_scenario(random));
}

TEST_CASE("best is never worse on a measured table, with jitter, or with one worker") {
  Random random(62, 0);
  for (int round = 0; round < 5; ++round) {
    Scenario scenario = random_scenario(random);
    Network& network = scenario.cluster.network;
    network.alpha.reset();
    network.beta.reset();
    network.table = {{64, 30e-6}, {8192, 180e-6}, {12288, 790e-6}, {1 << 20, 4700e-6}};
    scenario.cluster.workers = scenario.workers;
    check_never_worse(scenario);
  }
  for (int round = 0; round < 4; ++round) {
    Scenario scenario = random_scenario(random);
    scenario.stragglers.jitter = Jitter{.sigma = 0.1, .seed = 5};
    scenario.options.iterations = 10;
    check_never_worse(scenario);
  }
  Scenario alone = random_scenario(random);
  alone.workers = 1;
  alone.stragglers = {};
  check_never_worse(alone);
}

TEST_CASE("best obeys a barrier that is given, at every stage") {
  Random random(65, 0);
  for (std::int64_t zero = 0; zero <= 2; ++zero)
    for (const Barrier barrier : {Barrier::Iteration, Barrier::Layer})
      for (int round = 0; round < 3; ++round) {
        Scenario scenario = random_scenario(random);
        scenario.options.strategy.sharding.zero = zero;
        scenario.options.strategy.barrier = barrier;
        CHECK(plan_of(scenario).queueing->barrier == barrier);
        check_never_worse(scenario);
      }
}

TEST_CASE("best is the fastest that fits if gradients wait for their reduction") {
  Random random(66, 0);
  int limited = 0;
  for (int round = 0; round < 12; ++round) {
    Scenario scenario = random_scenario(random);
    scenario.options.strategy.sharding.zero = 2;
    std::vector<std::pair<double, double>> others;  // what they need and take
    for (const Strategy& strategy : strategies()) {
      Scenario other = scenario;
      other.strategy = &strategy;
      if (strategy.searched() || strategy.local_steps || !is_compatible(other)) continue;
      const Result result = simulate(other);
      others.emplace_back(result.memory.peak, result.metrics.iteration_s);
    }
    const double free = simulate(scenario).memory.peak;
    scenario.options.memory.limit = static_cast<Bytes>(std::min_element(others.begin(), others.end())->first) + 1;
    const auto limit = static_cast<double>(*scenario.options.memory.limit);
    if (free > limit) ++limited;
    const Result best = simulate(scenario);
    INFO("round " << round);
    REQUIRE(best.memory.peak <= limit);
    for (const auto& [bytes, seconds] : others)
      if (bytes <= limit) REQUIRE(best.metrics.iteration_s <= seconds);
  }
  CHECK(limited >= 3);
  Scenario scenario = random_scenario(random);
  scenario.options.set("memory", "1 kB", {"command line", "--memory"});
  CHECK(error_place([&] { plan_of(scenario); }) == "command line: --memory");
}

TEST_CASE("with one transfer at a time, no plan of all-reduces is faster than sending the most urgent byte first") {
  Random random(63, 0);
  for (int round = 0; round < 60; ++round) {
    Scenario scenario = random_scenario(random);
    scenario.options.sharing = Sharing::Serial;
    scenario.stragglers = {};
    const Plan urgent =
        expand(schedule_most_urgent(scenario.profile, job_of(scenario).fabric->price(CollectiveOp::AllReduce)),
               scenario.profile);
    require_covered(urgent, scenario.profile);
    const double time = simulate(scenario, urgent).metrics.iteration_s;
    for (int other = 0; other < 60; ++other)  // cuts fall between whole bytes, and durations on whole picoseconds
      REQUIRE(time <= simulate(scenario, random_plan(random, scenario.profile)).metrics.iteration_s +
                          1e-9 * static_cast<double>(urgent.blocks.size() * 2));
  }
}

TEST_CASE("progress counts the plans that best compares, and no iterations of these") {
  Random random(8, 0);
  for (const std::int64_t stage : {0, 3}) {
    Scenario scenario = scenario_of(random_profile(random, 6), "best", 4, 1e-5, 1e-9);
    scenario.options.strategy.sharding.zero = stage;
    scenario.stragglers.jitter = Jitter{.sigma = 0.1, .seed = 5};
    scenario.options.iterations = 3;
    std::size_t iterations = 0, announced = 0, told = 0;
    scenario.after_iteration = [&] { ++iterations; };
    const Result watched = simulate(scenario, [&](std::size_t steps) {
      announced += steps;
      return [&] { ++told; };
    });
    CHECK(announced > 1);
    CHECK(told == announced);
    CHECK(iterations == 3);
    CHECK(watched.metrics.iteration_s == simulate(scenario).metrics.iteration_s);
  }
}

TEST_CASE("the search repeats itself") {
  Random random(64, 0);
  const Scenario scenario = random_scenario(random);
  const Plan once = plan_of(scenario), again = plan_of(scenario);
  REQUIRE(once.blocks.size() == again.blocks.size());
  for (std::size_t i = 0; i < once.blocks.size(); ++i) REQUIRE(once.blocks[i].bytes() == again.blocks[i].bytes());
}

TEST_CASE("best starts from no plan that would fill the memory") {
  // 300 GB: 1.5 million slices of P3's 200 kB, and of the sizes that the search tries; 75,000 of ByteScheduler's 4 MB.
  Scenario scenario = scenario_of({}, "best", 4, 1e-6, 1e-12);
  scenario.profile.own().layers = {{"a", Time(1'000'000), Time(1'000'000)}};
  scenario.profile.own().tensors = {{"a.w", 75'000'000'000, 300'000'000'000, 0}};
  const Plan plan = plan_of(scenario);
  require_covered(plan, scenario.profile);
  CHECK(plan.blocks.size() <= 75'000);
  // `best` refuses options that it chooses itself.
  scenario.options.set("partition", "200 kB", {"command line", "--option partition"});
  CHECK(error_place([&] { plan_of(scenario); }) == "command line: --option partition");
}

TEST_CASE("as many slices as a plan may have are affordable, and one more is not") {
  // 1,000 tensors of 4,000 B in slices of 4 B are 1,000,000; one tensor more are 1,001,000.
  const auto affords = [](LayerId layers) {
    Profile profile;
    for (LayerId layer = 0; layer < layers; ++layer) {
      profile.layers.push_back({"l", Time(1000), Time(1000)});
      profile.tensors.push_back({"t", 1000, 4000, layer});
    }
    Scenario scenario = scenario_of(std::move(profile), "bytescheduler", 4, 1e-6, 1e-10);
    scenario.options.strategy.partition = 4;
    return is_affordable(scenario);
  };
  CHECK(affords(1000));
  CHECK(!affords(1001));
}
