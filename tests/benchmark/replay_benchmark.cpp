// Measures how fast plans are made and iterations replayed. Lines of the output:
//   bare_event_loop      the bound: a heap of N events, popped and pushed, nothing else
//   replay/…             task completions per second of a whole replayed iteration (items_per_second)
//   plan/…               one plan for as many tensors as DenseNet-201 has
#include <queue>

#include <benchmark/benchmark.h>

#include "sim/base/core/random.hpp"
#include "sim/replay/network/alpha_beta.hpp"
#include "sim/replay/training/unroll.hpp"
#include "sim/studies/search/plan_of.hpp"

namespace {

using namespace allreplay;

Profile synthetic(std::size_t layers) {
  Profile profile;
  Random random(1, 0);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    profile.layers.push_back(
        {std::to_string(layer), to_time(100e-6 * random.uniform()), to_time(200e-6 * random.uniform())});
    const auto elements = static_cast<std::int64_t>(1 + random.below(100'000));
    profile.tensors.push_back({std::to_string(layer), elements, 4 * elements, static_cast<LayerId>(layer)});
  }
  return profile;
}

const CommCost cost(50e-6, 1e-9);

void bare_event_loop(benchmark::State& state) {
  using Event = std::pair<std::int64_t, std::uint32_t>;
  std::int64_t count = 0;
  for (auto _ : state) {
    std::priority_queue<Event, std::vector<Event>, std::greater<>> heap;
    for (std::uint32_t i = 0; i < 2; ++i) heap.push({i, i});
    for (std::int64_t step = 0; step < state.range(0); ++step) {
      const Event event = heap.top();
      heap.pop();
      heap.push({event.first + 10 + event.second, event.second});
    }
    benchmark::DoNotOptimize(heap);
    count += state.range(0);
  }
  state.SetItemsProcessed(count);
}
BENCHMARK(bare_event_loop)->Arg(1812);

void replay_iteration(benchmark::State& state) {
  const Profile profile = synthetic(604);
  const StrategyOptions options;
  const Plan plan = make_plan(find_strategy("wfbp", {}), {profile, cost, options});
  const std::vector<WorkerClass> classes(static_cast<std::size_t>(state.range(0)), WorkerClass{1, {0}});
  const Unrolled unrolled = unroll(profile, plan, classes);
  std::int64_t completions = 0;
  for (auto _ : state) {
    std::vector<Stream> streams;
    SerialChannel network(cost);
    Clock ticks(Time(0));
    benchmark::DoNotOptimize(
        replay(unrolled.graph, system_of(unrolled, plan, streams, ticks, {{&network, Phase::Communication}})));
    completions += static_cast<std::int64_t>(unrolled.graph.tasks().size());
  }
  state.SetItemsProcessed(completions);
}
BENCHMARK(replay_iteration)->ArgName("classes")->Arg(1)->Arg(64);

void whole_simulation(benchmark::State& state) {
  Scenario scenario;
  scenario.profile = synthetic(604);
  scenario.cluster.network.alpha = 1e-6;
  scenario.cluster.network.beta = 1e-9;
  scenario.workers = 64;
  scenario.strategy = &find_strategy("wfbp", {});
  for (auto _ : state) benchmark::DoNotOptimize(simulate(scenario));
}
BENCHMARK(whole_simulation)->Unit(benchmark::kMicrosecond);

void plan(benchmark::State& state, const char* name) {
  const Profile profile = synthetic(604);
  const StrategyOptions options;
  for (auto _ : state) benchmark::DoNotOptimize(find_strategy(name, {}).schedule({profile, cost, options}));
}
BENCHMARK_CAPTURE(plan, mg_wfbp, "mg-wfbp")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(plan, optimal_merge, "optimal-merge")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(plan, ddp, "ddp")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(plan, horovod, "horovod")->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
