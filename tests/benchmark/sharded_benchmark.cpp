// Measures sharded strategies: a replay, the search over units, and a recommendation over all frameworks' options.
#include <benchmark/benchmark.h>

#include "sim/plans/schedule/offer.hpp"
#include "sim/studies/experiment/recommend.hpp"
#include "sim/studies/search/plan_of.hpp"

namespace {

using namespace allreplay;

// Blocks of equal layers of 13 million elements each, as a transformer's of 7 billion parameters has.
Profile transformer(std::size_t blocks, std::size_t layers) {
  Profile profile;
  profile.name = profile.model = "transformer";
  profile.precision = "bf16";
  profile.batch_size = 1;
  profile.update = to_time(90e-3);
  for (std::size_t block = 0; block < blocks; ++block)
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const auto id = static_cast<LayerId>(profile.layers.size());
      const std::string name = std::to_string(id);
      profile.layers.push_back({name, to_time(0.8e-3), to_time(1.7e-3), "block" + std::to_string(block), 50'000'000});
      profile.tensors.push_back({name, 13'000'000, 26'000'000, id});
    }
  return profile;
}

Scenario on(Profile profile, const char* strategy, std::int64_t workers) {
  Scenario scenario;
  scenario.profile = std::move(profile);
  scenario.cluster.network.alpha = 5e-6;
  scenario.cluster.network.beta = 0.02e-9;
  scenario.cluster.workers = scenario.workers = workers;
  scenario.strategy = &find_strategy(strategy, {});
  return scenario;
}

void fsdp2_replay(benchmark::State& state) {
  const Scenario scenario = on(transformer(128, 1), "fsdp2", 2048);
  for (auto _ : state) benchmark::DoNotOptimize(simulate(scenario));
}
BENCHMARK(fsdp2_replay)->Unit(benchmark::kMicrosecond);

void fsdp2_fat_tree(benchmark::State& state) {
  Scenario scenario = on(transformer(128, 1), "fsdp2", 2048);
  TopologySpec tree;
  tree.kind = TopologyKind::FatTree;
  tree.ports = 32;
  tree.link = {.latency = 1e-6, .bandwidth = 50e9};
  scenario.cluster.network.topology = tree;
  scenario.cluster.network.beta.reset();
  scenario.fidelity = "fluid";
  for (auto _ : state) benchmark::DoNotOptimize(simulate(scenario));
}
BENCHMARK(fsdp2_fat_tree)->Unit(benchmark::kMillisecond);

void recommend_offered(benchmark::State& state) {
  std::vector<Scenario> scenarios;
  for (const Framework& framework : frameworks())
    for (const Strategy* strategy : framework.strategies)
      scenarios.push_back(on(transformer(32, 7), strategy->name.data(), 64));
  for (Scenario& scenario : scenarios) scenario.options.memory.limit = 80'000'000'000;
  for (auto _ : state) {
    std::vector<RuledOut> ruled_out;
    benchmark::DoNotOptimize(recommend(scenarios, {}, ruled_out));
  }
}
BENCHMARK(recommend_offered)->Unit(benchmark::kMillisecond)->UseRealTime();

void best_stage_3(benchmark::State& state) {
  Scenario scenario = on(transformer(static_cast<std::size_t>(state.range(0)), 7), "best", 64);
  scenario.options.strategy.sharding.zero = 3;
  for (auto _ : state) benchmark::DoNotOptimize(plan_of(scenario));
}
BENCHMARK(best_stage_3)->ArgName("blocks")->Arg(6)->Arg(32)->Arg(128)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
