// Measures how fast plans are made, and how long searches and recommendations take. Lines of the output:
//   plan/…        one plan: 161 tensors as in ResNet-50, 604 as in DenseNet-201, at the strategy's defaults
//   mergecomp/…   the exact optimum for a number of groups, under a codec with linear times
//   best/…        the search of `best`
//   recommend/…   all strategies tuned and ranked at one size, two trials at a time
#include <benchmark/benchmark.h>

#include "sim/studies/experiment/recommend.hpp"
#include "sim/studies/experiment/request.hpp"
#include "sim/studies/search/plan_of.hpp"

namespace {

using namespace allreplay;

Scenario scenario(const char* profile, const char* strategy, std::int64_t workers) {
  Library library;
  Request request;
  request.profile = std::string(ALLREPLAY_SOURCE_DIR "/traces/") + profile + ".json";
  request.cluster = ALLREPLAY_SOURCE_DIR "/topologies/k80-10gbe.json";
  request.strategy = strategy;
  request.workers = workers;
  return library.resolve(request);
}

// The same network, four times over: 644 tensors from ResNet-50's 161.
Scenario deeper(Scenario one, std::size_t tensors) {
  const Profile shallow = one.profile;
  Profile& deep = one.profile.own();
  while (deep.tensors.size() < tensors) {
    const auto layers = static_cast<LayerId>(deep.layers.size());
    deep.layers.insert(deep.layers.end(), shallow.layers.begin(), shallow.layers.end());
    for (Tensor tensor : shallow.tensors) {
      if (deep.tensors.size() == tensors) break;
      tensor.layer += layers;
      deep.tensors.push_back(tensor);
    }
  }
  return one;
}

void plan(benchmark::State& state, const char* strategy) {
  const Scenario one = deeper(scenario("resnet50_k80_b16", strategy, 16), static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(plan_of(one));
}
BENCHMARK_CAPTURE(plan, us_byte, "us-byte")->Arg(161)->Arg(604)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan, bytescheduler, "bytescheduler")->Arg(161)->Arg(604)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan, p3, "p3")->Arg(161)->Arg(604)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan, dear, "dear")->Arg(161)->Arg(604)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan, best, "best")->Arg(161)->Arg(604)->Unit(benchmark::kMillisecond);

void mergecomp(benchmark::State& state) {
  Scenario one = deeper(scenario("resnet50_k80_b16", "mergecomp", 16), static_cast<std::size_t>(state.range(0)));
  one.codec = CodecCosts{"dgc", &find_codec("dgc", {}), "", "estimated", "", {379e-6, 0.09e-9}, {114e-6, 0.03e-9}};
  one.options.strategy.grouping = Grouping::Optimal;
  one.options.strategy.groups = state.range(1);
  for (auto _ : state) benchmark::DoNotOptimize(plan_of(one));
}
BENCHMARK(mergecomp)
    ->ArgNames({"tensors", "groups"})
    ->ArgsProduct({{161, 604}, {2, 4, 16}})
    ->Unit(benchmark::kMillisecond);

// The most expensive case of the search: nothing meets the lower bound, and small start-ups make many cuts worthwhile.
void best_fair(benchmark::State& state) {
  Scenario one = scenario("resnet50_k80_b16", "best", state.range(0));
  one.options.sharing = Sharing::Fair;
  for (auto _ : state) benchmark::DoNotOptimize(plan_of(one));
}
BENCHMARK(best_fair)->ArgName("workers")->Arg(16)->Arg(128)->Arg(512)->Unit(benchmark::kMillisecond);

void recommend_all(benchmark::State& state) {
  std::vector<Scenario> scenarios;
  for (const std::string& name : names_of_all_strategies())
    scenarios.push_back(scenario("resnet50_k80_b16", name.c_str(), state.range(0)));
  for (auto _ : state) {
    std::vector<RuledOut> ruled_out;
    benchmark::DoNotOptimize(recommend(scenarios, {}, ruled_out));
  }
}
BENCHMARK(recommend_all)->ArgName("workers")->Arg(16)->Arg(128)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
