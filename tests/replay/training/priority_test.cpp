// Strategies that overlap communication with the next forward pass: what their papers' models say of them.
#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"
#include "tests/replay/training/tasks.hpp"

#include "sim/plans/schedule/us_byte.hpp"
#include "sim/studies/search/plan_of.hpp"

using namespace allreplay;

namespace priority_test {

namespace {

// Whole-nanosecond b: slices add up without rounding. Among two workers a ring costs T(M) = 2α + β·M.
Scenario random_scenario(Random& random, std::string_view strategy, double alpha) {
  return scenario_of(random_profile(random, 8), strategy, 2, alpha, static_cast<double>(1 + random.below(3)) * 1e-9);
}

Time iteration(Scenario scenario, std::string_view strategy) {
  scenario.strategy = &find_strategy(strategy, {});
  return to_time(simulate(scenario).metrics.iteration_s);
}

Time iteration_with_credit(Scenario scenario, std::int64_t blocks) {
  scenario.options.strategy.credit = {.count = blocks};
  return iteration(scenario, "bytescheduler");
}

double microseconds(Random& random, std::uint64_t below) { return static_cast<double>(random.below(below)) * 1e-6; }

UsByteModel model_of(const Scenario& scenario, const CommCost& cost) {
  return {scenario.profile, cost, *scenario.options.strategy.partition};
}

}  // namespace

TEST_CASE("US-Byte's replay equals its Eq. 12") {
  Random random(51, 0);
  for (int round = 0; round < 300; ++round) {
    const double alpha = microseconds(random, 300);
    Scenario scenario = random_scenario(random, "us-byte", alpha);
    scenario.options.strategy.partition = static_cast<Bytes>(4 * (1 + random.below(200'000)));
    const CommCost cost(2 * alpha, *scenario.cluster.network.beta);
    const UsByteModel model = model_of(scenario, cost);
    REQUIRE(iteration(scenario, "us-byte") == model.schedule(model.greedy(), model.sequential()).iteration);
    scenario.options.strategy.first_phase = {.kind = PhaseOrder::Kind::Sequential};
    REQUIRE(iteration(scenario, "us-byte") == model.schedule(model.sequential(), model.sequential()).iteration);
    scenario.options.strategy.second_phase = {.kind = PhaseOrder::Kind::Random, .seed = 3};
    REQUIRE(iteration(scenario, "us-byte") >= model.schedule(model.sequential(), model.sequential()).iteration);
  }
}

TEST_CASE("US-Byte in sequential order is ByteScheduler with credit 1, with one block a tensor or without start-up") {
  Random random(52, 0);
  for (int round = 0; round < 300; ++round) {
    const bool whole = round % 2 == 0;
    const double alpha = whole ? microseconds(random, 300) : 0;
    Scenario scenario = random_scenario(random, "us-byte", alpha);
    scenario.options.strategy.partition = whole ? Bytes{1} << 40 : static_cast<Bytes>(4 * (1 + random.below(200'000)));
    const CommCost cost(2 * alpha, *scenario.cluster.network.beta);
    const UsByteModel model = model_of(scenario, cost);
    REQUIRE(iteration_with_credit(scenario, 1) == model.schedule(model.sequential(), model.sequential()).iteration);
    REQUIRE(iteration(scenario, "us-byte") <= iteration_with_credit(scenario, 1));
  }
}

TEST_CASE("limits of US-Byte's paper") {
  Random random(53, 0);
  for (int round = 0; round < 200; ++round) {
    Scenario scenario = random_scenario(random, "us-byte", 0);
    scenario.options.strategy.partition = static_cast<Bytes>(4 * (1 + random.below(500'000)));
    // No latency: US-Byte <= ByteScheduler with credit 1 <= WFBP.
    const Time us_byte = iteration(scenario, "us-byte"), byte_scheduler = iteration_with_credit(scenario, 1),
               wfbp = iteration(scenario, "wfbp");
    REQUIRE(us_byte <= byte_scheduler);
    REQUIRE(byte_scheduler <= wfbp);
    // With latency: WFBP is less than twice as slow as US-Byte, which sends every tensor at least once, too.
    scenario.cluster.network.alpha = microseconds(random, 2000);
    REQUIRE(iteration(scenario, "wfbp").count() < 2 * iteration(scenario, "us-byte").count());
    // No cost at all: computation is all that is left.
    scenario.cluster.network.alpha = scenario.cluster.network.beta = 0;
    const Time compute = scenario.profile->forward() + scenario.profile->backward();
    for (const Strategy& strategy : strategies())
      if (strategy.name != "horovod" && !strategy.local_steps)
        REQUIRE(iteration(scenario, strategy.name) == compute);  // which waits for its cycle
  }
}

TEST_CASE("no ready block of a deeper layer is admitted while one nearer to the input waits") {
  Random random(54, 0);
  for (int round = 0; round < 200; ++round) {
    Scenario scenario = random_scenario(random, round % 2 == 0 ? "bytescheduler" : "p3", microseconds(random, 300));
    scenario.options.strategy.partition = static_cast<Bytes>(4 * (1 + random.below(200'000)));
    scenario.options.strategy.credit =
        random.below(2) == 0
            ? Window{.count = static_cast<std::int64_t>(1 + random.below(5))}
            : Window{.count = Window::unlimited, .bytes = static_cast<Bytes>(1 + random.below(2'000'000))};
    scenario.options.sharing = random.below(2) == 0 ? Sharing::Serial : Sharing::Fair;
    if (random.below(3) == 0) scenario.stragglers.slow = {{1, 1.5}};
    const Result result = simulate(scenario);
    const auto& spans = result.episodes.back().timeline.spans;
    const auto span = [&](std::size_t block) { return spans[result.unrolled.transfer(block)]; };
    for (std::size_t one = 0; one < result.plan.blocks.size(); ++one) {
      std::int64_t count = 0;
      Bytes bytes = 0;
      for (std::size_t other = 0; other < result.plan.blocks.size(); ++other) {
        const bool waits = span(other).ready <= span(one).start && span(other).start > span(one).start;
        if (waits) REQUIRE(result.plan.blocks[one].priority <= result.plan.blocks[other].priority);
        if (waits && result.plan.blocks[one].priority == result.plan.blocks[other].priority) REQUIRE(one < other);
        if (span(other).start <= span(one).start && span(one).start < span(other).end) {
          ++count;
          bytes += result.plan.blocks[other].bytes();
        }
      }
      REQUIRE(count <= result.plan.queueing->window.count);
      // Some one of them was admitted last, when the others were below the window.
      if (count > 1) REQUIRE(bytes - *scenario.options.strategy.partition < result.plan.queueing->window.bytes);
    }
  }
}

TEST_CASE("DeAR's reduce-scatters go before its all-gathers, which wait for the backward pass") {
  Random random(55, 0);
  for (int round = 0; round < 200; ++round) {
    Scenario scenario = random_scenario(random, "dear", microseconds(random, 300));
    scenario.options.strategy.threshold = static_cast<Bytes>(4 * (1 + random.below(1'000'000)));
    if (random.below(3) == 0) scenario.stragglers.slow = {{1, 1.5}};
    const Result result = simulate(scenario);
    const Tasks u(result);
    const auto& spans = result.episodes.back().timeline.spans;
    REQUIRE(u.transfers() == 2 * result.plan.blocks.size());
    for (std::size_t block = 0; block < u.blocks; ++block) {
      const Span reduce = spans[u.block(block, 0)], gather = spans[u.block(block, 1)];
      REQUIRE(reduce.end <= gather.start);
      for (std::size_t c = 0; c < u.classes; ++c) {
        REQUIRE(spans[u.backward(c, 0)].end <= gather.start);
        for (const Slice& slice : result.plan.blocks[block].slices)
          REQUIRE(gather.end <= spans[u.forward(c, scenario.profile->tensors[slice.tensor].layer)].start);
      }
      for (std::size_t other = 0; other < u.blocks; ++other)
        REQUIRE_FALSE(
            (gather.start < spans[u.block(other, 0)].start && spans[u.block(other, 0)].ready <= gather.start));
      // Alone a half costs half the start-up and half the bytes' time: here α and β·M/2.
      REQUIRE(reduce.end - reduce.start == gather.end - gather.start);
    }
  }
}

TEST_CASE("10,000 random second-phase orders: none is faster than the sequential one (US-Byte, Fig. 13)") {
  Random random(56, 0);
  const Profile profile = random_profile(random, 40);
  const CommCost cost(1.3e-3, 1.9e-9);
  const UsByteModel model(profile, cost, 4'000'000);
  const Priorities first = model.greedy();
  const Time best = model.schedule(first, model.sequential()).iteration;
  Priorities second = model.sequential();
  int slower = 0;
  for (int order = 0; order < 10'000; ++order) {
    for (std::size_t left = second.size(); left > 1; --left) std::swap(second[left - 1], second[random.below(left)]);
    const Time time = model.schedule(first, second).iteration;
    REQUIRE(best <= time);
    slower += best < time;
  }
  CHECK(slower > 0);
}

}  // namespace priority_test
