// Laws that hold for every strategy on every profile.
#include <algorithm>
#include <map>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"
#include "tests/replay/training/tasks.hpp"

using namespace allreplay;

namespace {

// Eight workers on a random topology, in a detailed fidelity.
void put_on_topology(Scenario& scenario, Random& random) {
  const auto pick = [&](std::initializer_list<const char*> names) {
    return std::string(names.begin()[random.below(names.size())]);
  };
  const std::string link = R"("link": {"latency": "1 us", "bandwidth": "10 Gbit/s"})";
  const std::string shape = pick({R"("kind": "star")", R"("kind": "fat-tree", "ports": 4)",
                                  R"("kind": "bcube", "n": 2, "k": 3)", R"("kind": "torus", "dimensions": [4, 4])",
                                  R"("kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 2)"});
  scenario.cluster.network.topology = read_topology(Json::parse("{" + shape + ", " + link + "}", "topology"));
  scenario.cluster.network.beta.reset();
  scenario.cluster.network.gamma = random.below(2) == 0 ? 0 : 1e-11;
  scenario.workers = 8;
  scenario.fidelity = pick({"fluid", "message", "alpha-beta"});
  scenario.collective =
      pick({"ring", "parameter-server", "halving-doubling", "double-binary-tree", "hierarchical", "binary-tree"});
}

Scenario random_scenario(Random& random, std::string_view strategy) {
  const double alpha = static_cast<double>(random.below(200)) * 1e-6,
               beta = static_cast<double>(random.below(20)) * 1e-10;
  Scenario scenario =
      scenario_of(random_profile(random, 15), strategy, static_cast<std::int64_t>(2 + random.below(9)), alpha, beta);
  if (random.below(3) == 0) scenario.stragglers.slow = {{1, 1 + static_cast<double>(random.below(100)) / 100}};
  scenario.options.strategy.bucket_cap = scenario.options.strategy.threshold =
      static_cast<Bytes>(1 + random.below(8'000'000));
  scenario.options.strategy.cycle = to_time(static_cast<double>(1 + random.below(2000)) * 1e-6);
  scenario.options.sharing = random.below(2) == 0 ? Sharing::Serial : Sharing::Fair;
  return scenario;
}

// Every slice starts after its layer's backward on every worker, and ends before the forward that waits for it.
void check_causality(const Scenario& scenario, const Result& result) {
  const Tasks u(result);
  const Timeline& timeline = result.episodes.back().timeline;
  for (std::size_t index = 0; index < u.blocks; ++index) {
    const Span& block = timeline.spans[u.block(index)];
    const Time end = timeline.spans[u.block(index, u.stages - 1)].end;
    for (const Slice& slice : result.plan.blocks[index].slices) {
      const LayerId layer = scenario.profile->tensors[slice.tensor].layer;
      for (std::size_t c = 0; c < u.classes; ++c) {
        REQUIRE(timeline.spans[u.backward(c, layer)].end <= block.start);
        if (result.plan.queueing->release == Release::Backward)
          REQUIRE(timeline.spans[u.backward(c, 0)].end <= block.start);
        REQUIRE(end <= timeline.spans[u.forward(c, layer)].start);
        if (result.plan.queueing->barrier == Barrier::Iteration) REQUIRE(end <= timeline.spans[u.forward(c, 0)].start);
      }
    }
  }
}

// Compute runs back to back in order, one layer at a time.
void check_compute(const Result& result) {
  const Tasks u(result);
  const Timeline& timeline = result.episodes.back().timeline;
  for (std::size_t c = 0; c < u.classes; ++c) {
    Time until = timeline.spans[u.lead_in(c)].end;
    for (std::size_t layer = u.layers; layer-- > 0;) {
      const Span& span = timeline.spans[u.backward(c, layer)];
      REQUIRE(span.start == until);
      REQUIRE(span.end - span.start == u.graph.tasks()[u.backward(c, layer)].duration);
      until = span.end;
    }
    for (std::size_t layer = 0; layer < u.layers; ++layer) {
      REQUIRE(timeline.spans[u.forward(c, layer)].start >= until);
      until = timeline.spans[u.forward(c, layer)].end;
    }
  }
}

// Never more blocks in flight than the window, and each admitted in its plan's order.
void check_window(const Result& result) {
  const Tasks u(result);
  const Timeline& timeline = result.episodes.back().timeline;
  for (std::size_t index = 0; index < u.transfers(); ++index) {
    const Time start = timeline.spans[u.transfer(index)].start;
    std::int64_t in_flight = 0;
    for (std::size_t other = 0; other < u.transfers(); ++other) {
      const Span& span = timeline.spans[u.transfer(other)];
      in_flight += span.start <= start && start < span.end;
      if (result.plan.queueing->order == Order::AsListed && other < index) REQUIRE(span.start <= start);
      if (result.plan.queueing->order == Order::FirstReady && span.ready < timeline.spans[u.transfer(index)].ready)
        REQUIRE(span.start <= start);
    }
    REQUIRE(in_flight <= result.plan.queueing->window.count);
  }
}

}  // namespace

TEST_CASE("every strategy obeys causality, its window and the lower bound, in every fidelity") {
  Random random(31, 0);
  for (int round = 0; round < 60; ++round)
    for (const Strategy& strategy : strategies()) {
      if (strategy.shards()) continue;  // sharded_laws_test.cpp
      Scenario scenario = random_scenario(random, strategy.name);
      if (round % 2 == 1) put_on_topology(scenario, random);
      const Result result = simulate(scenario);
      INFO(strategy.name << " round " << round);
      check_causality(scenario, result);
      check_compute(result);
      check_window(result);
      // Each block's a + b·M is rounded once: half a picosecond a block; in the detailed fidelities, one a round.
      const double rounds = scenario.fidelity.empty() ? 1 : 50;
      REQUIRE(result.metrics.iteration_s >=
              *result.metrics.lower_bound_s - 1e-12 * rounds * static_cast<double>(result.metrics.collectives));
      REQUIRE(result.metrics.comm_busy_s <= result.metrics.iteration_s);
      REQUIRE(result.metrics.speedup <= static_cast<double>(scenario.workers) * (1 + 1e-12));
    }
}

TEST_CASE("a faster network, or one worker less slow, never makes an iteration longer in wfbp") {
  Random random(32, 0);
  for (int round = 0; round < 100; ++round) {
    Scenario scenario = random_scenario(random, "wfbp");
    const double before = simulate(scenario).metrics.iteration_s;
    *scenario.cluster.network.alpha /= 2;
    *scenario.cluster.network.beta /= 2;
    const double faster = simulate(scenario).metrics.iteration_s;
    REQUIRE(faster <= before);
    scenario.stragglers.slow.clear();
    REQUIRE(simulate(scenario).metrics.iteration_s <= faster);
  }
}
