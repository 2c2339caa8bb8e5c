#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"

using namespace allreplay;

namespace {

// Two layers: F = 1, 2 ms; B = 4, 3 ms (layers 1, 2); one tensor each. T = 1 ms for either (a only).
Profile two_layers() {
  Profile profile;
  profile.layers = {{"1", to_time(1e-3), to_time(4e-3)}, {"2", to_time(2e-3), to_time(3e-3)}};
  profile.tensors = {{"t1", 1, 4, 0}, {"t2", 1, 4, 1}};
  return profile;
}

}  // namespace

TEST_CASE("a slowed worker delays every collective by the expected time") {
  // Unslowed: B2 3, B1 7, block 2 at 3-4, block 1 at 7-8, F 3: 11 ms.
  Scenario scenario = scenario_of(two_layers(), "wfbp", 4, 1e-3 / 6, 0);
  CHECK(simulate(scenario).metrics.iteration_s == Approx(11e-3));
  // Worker 2 takes 1.5 times as long: F 4.5, B 10.5. All start F together when block 1 is done; the slow one ends B
  // 15 ms later, and block 1 1 ms after that: 16 ms.
  scenario.stragglers.slow = {{2, 1.5}};
  const Result slow = simulate(scenario);
  CHECK(slow.metrics.iteration_s == Approx(16e-3));
  CHECK(slow.classes.size() == 2);
  // Speed-up and exposed time refer to unslowed workers: 4·10/16, 11 − 10. What the slow one costs: 16 − 11.
  CHECK(slow.metrics.speedup == Approx(4 * 10. / 16));
  CHECK(slow.metrics.exposed_comm_s == Approx(1e-3));
  CHECK(slow.metrics.straggler_s == Approx(5e-3));
  CHECK(*slow.metrics.lower_bound_s == Approx(16e-3));
}

TEST_CASE("the cost of stragglers is a separate part: the others are those of workers without slowdown") {
  Random random(35, 0);
  const std::vector<std::string> names = names_of_all_strategies();
  for (int round = 0; round < 60; ++round) {
    const Scenario even = scenario_of(random_profile(random, 8), names[round % names.size()], 6, 50e-6, 1e-9);
    const Plan plan = plan_of(even);
    const Metrics without = simulate(even, plan).metrics;
    REQUIRE(without.straggler_s == 0);
    for (int kind = 0; kind < 3; ++kind) {
      Scenario slowed = even;
      if (kind == 0) slowed.stragglers.slow = {{1, 1.25}, {4, 1.5}, {5, 0.5}};
      if (kind == 1) slowed.stragglers.spread = Spread{.sigma = 0.1};
      if (kind == 2) slowed.stragglers.jitter = Jitter{.sigma = 0.2, .seed = 7};
      const Metrics with = simulate(slowed, plan).metrics;
      REQUIRE(with.exposed_comm_s == Approx(without.exposed_comm_s).margin(1e-12));
      REQUIRE(with.iteration_s - with.straggler_s == Approx(without.iteration_s));
      REQUIRE((kind == 2 || with.straggler_s > 0));
    }
  }
  // Workers that are faster than the profile says save time.
  Scenario fast = scenario_of(two_layers(), "wfbp", 1, 0, 0);
  fast.stragglers.slow = {{0, 0.5}};
  CHECK(simulate(fast).metrics.straggler_s == Approx(-5e-3));  // half of 10 ms
}

TEST_CASE("the slow worker's gradients decide when blocks start") {
  Scenario scenario = scenario_of(two_layers(), "wfbp", 4, 1e-3 / 6, 0);
  scenario.stragglers.slow = {{0, 2}};
  const Result result = simulate(scenario);
  // The slow one starts B 3 ms after the others (F 6 against 3), and takes 6 ms for B2: its block is admitted 9 ms
  // after the others' start, 6 ms after its own.
  const Episode& episode = result.episodes.back();
  CHECK(episode.timeline.spans[result.unrolled.transfer(0)].start == to_time(9e-3));
}

TEST_CASE("folding identical workers changes nothing") {
  Random random(21, 0);
  const std::vector<std::string> names = names_of_all_strategies();
  for (int round = 0; round < 60; ++round) {
    Scenario scenario = scenario_of(random_profile(random, 8), names[round % names.size()], 6, 50e-6, 1e-9);
    if (round % 3 > 0) scenario.stragglers.slow = {{1, 1.25}, {4, 1.25}, {5, 0.5}};
    scenario.options.strategy.cycle = to_time(300e-6);
    const Metrics folded = simulate(scenario).metrics;
    scenario.fold = false;
    const Metrics per_rank_start = simulate(scenario).metrics;
    REQUIRE(folded.iteration_s == per_rank_start.iteration_s);
    REQUIRE(folded.comm_busy_s == per_rank_start.comm_busy_s);
    REQUIRE(folded.lower_bound_s == per_rank_start.lower_bound_s);
  }
}

TEST_CASE("jitter costs time, is reproducible, and respects the bound") {
  Random random(22, 0);
  for (int round = 0; round < 10; ++round) {
    Scenario scenario = scenario_of(random_profile(random, 8), "wfbp", 8, 50e-6, 1e-9);
    const double steady = simulate(scenario).metrics.iteration_s;
    scenario.stragglers.jitter = Jitter{JitterKind::LogNormal, 0.2, 42};
    const Metrics jittered = simulate(scenario).metrics;
    CHECK(jittered.iteration_s > steady * 0.98);  // the slowest of eight is slower than the mean
    CHECK(jittered.iteration_s == simulate(scenario).metrics.iteration_s);
    CHECK(jittered.iteration_s >= *jittered.lower_bound_s);
    scenario.stragglers.jitter->seed = 43;
    CHECK(jittered.iteration_s != simulate(scenario).metrics.iteration_s);
    scenario.stragglers.jitter->sigma = 0;
    CHECK(simulate(scenario).metrics.iteration_s == Approx(steady).epsilon(1e-12));
  }
}

// If something may slow compute, even by nothing, each worker has a stream of its own; otherwise one batch serves all.
TEST_CASE("batched workers give the same result as a stream for each") {
  Random random(23, 0);
  int transfers = 0;
  for (const char* strategy : {"s-sgd", "wfbp", "mg-wfbp", "ddp", "horovod", "bytescheduler", "us-byte", "p3", "dear",
                               "fsdp2", "zero-1", "zero-3", "megatron"})
    for (const JitterKind kind : {JitterKind::Normal, JitterKind::LogNormal, JitterKind::Uniform}) {
      Scenario scenario = scenario_of(random_profile(random, 8), strategy, 8, 50e-6, 1e-9);
      scenario.stragglers = {{{3, 1.5}}, Jitter{kind, 0.3, random.below(1000)}};
      scenario.options.iterations = 1 + static_cast<std::int64_t>(random.below(4));
      if (random.below(2) == 0) scenario.options.sharing = Sharing::Fair;
      INFO(strategy << ", " << scenario.options.iterations << " iterations");
      const Result batched = simulate(scenario);
      scenario.cluster.interference = Interference{1, {}};
      const Result per_rank_start = simulate(scenario);
      CHECK(batched.metrics.iteration_s == per_rank_start.metrics.iteration_s);
      CHECK(batched.metrics.comm_busy_s == per_rank_start.metrics.comm_busy_s);
      CHECK(batched.metrics.lower_bound_s == per_rank_start.metrics.lower_bound_s);
      CHECK(batched.metrics.events == per_rank_start.metrics.events);
      CHECK(batched.memory.peak == per_rank_start.memory.peak);
      REQUIRE(batched.episodes.size() == 2);
      for (std::size_t i = 0; i < 2; ++i) {
        CHECK(batched.episodes[i].start == per_rank_start.episodes[i].start);
        CHECK(batched.episodes[i].timeline.events == per_rank_start.episodes[i].timeline.events);
        const auto &one = batched.episodes[i].timeline.spans, &other = per_rank_start.episodes[i].timeline.spans;
        REQUIRE(one.size() == other.size());
        for (std::size_t id = 0; id < one.size(); ++id) {
          CHECK(one[id].ready == other[id].ready);
          CHECK(one[id].start == other[id].start);
          CHECK(one[id].end == other[id].end);
        }
      }
      for (TaskId id = 0; id < batched.unrolled.labels.size(); ++id)
        CHECK(batched.unrolled.graph.tasks()[id].duration == per_rank_start.unrolled.graph.tasks()[id].duration);
      transfers += static_cast<int>(batched.unrolled.transfers);
    }
  CHECK(transfers > 100);
}

TEST_CASE("of a spread without a seed one worker is as slow as the slowest of all is expected to be") {
  Stragglers spread;
  spread.spread = Spread{.sigma = 0.1};
  const std::vector<WorkerClass> classes = worker_classes(spread, 6);
  REQUIRE(classes.size() == 2);
  CHECK(classes[0].workers.size() + classes[1].workers.size() == 6);
  const WorkerClass& slow = classes[0].workers.size() == 1 ? classes[0] : classes[1];
  CHECK(slow.workers.size() == 1);
  CHECK(slow.slowdown == Approx(1 + 0.1 * 1.2672));  // E max of six normal ones (Harter 1961)
  CHECK((classes[0].slowdown == 1 || classes[1].slowdown == 1));
}
