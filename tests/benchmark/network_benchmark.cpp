// Measures how long a collective takes to simulate (docs/dev/performance.md): one run of each line is one collective,
// laid out beforehand.
//   Ring/star, Ring/fat-tree   a ring all-reduce of 100 MB among N, every message
//   RingScattered              the same, the ranks starting at random within a millisecond; and every message simulated
//   DoubleTree/fat-tree        double binary trees in 16 chunks of 100 MB, every message
//   ResNet50Rings              161 ring all-reduces of ResNet-50's sizes, one after another, every message
//   FluidRings                 the same in `fluid`, laying out included
//   fluid_in_flight            640 blocks of 40 to 280 kB, four at a time, of the collective named; laying out included
//   FluidBml                   BML on BCube(16, 4), 65,536 servers, laying out included
//   BareHeap                   for comparison: a heap with one event per message, and nothing else
#include <algorithm>
#include <queue>
#include <utility>

#include <benchmark/benchmark.h>

#include "tests/replay/network/networks.hpp"

#include "sim/base/core/random.hpp"
#include "sim/replay/engine/replay.hpp"

namespace {

using namespace allreplay;

constexpr LinkSpec ten_gigabit{1e-6, 1.25e9};
constexpr Bytes all_bytes = 100'000'000;

std::unique_ptr<Topology> smallest_fat_tree(std::int64_t workers) {
  std::int64_t ports = 4;
  while (ports * ports * ports / 4 < workers) ports += 2;
  return fat_tree(ports, workers, ten_gigabit);
}

NetworkSetup each(const std::string& collective, std::int64_t workers, Fidelity fidelity) {
  NetworkSetup result = setup(collective, workers, fidelity, 5e-6);
  result.reuse = false;
  return result;
}

// One block after another, or `window` together.
Timeline run(Server& server, const std::vector<Bytes>& blocks, std::int64_t window = 1) {
  TaskGraph graph;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    graph.add({.position = static_cast<std::int64_t>(i), .bytes = blocks[i]});
  graph.link();
  const System system{{{"network", {Order::AsListed, {window}}, 0}}, {{&server, Phase::Communication}}, {}};
  return replay(graph, system);
}

void measure(benchmark::State& state, const RoundsFabric& model, const std::vector<Bytes>& blocks,
             std::int64_t window = 1) {
  for (auto _ : state) benchmark::DoNotOptimize(run(*model.server(), blocks, window));
  state.counters["messages"] = static_cast<double>(model.messages()) * static_cast<double>(blocks.size());
}

void ring_star(benchmark::State& state) {
  const auto topology = star(state.range(0), ten_gigabit);
  measure(state, *lay_on(each("ring", state.range(0), Fidelity::Message), *topology), {all_bytes});
}
BENCHMARK(ring_star)->Name("Ring/star")->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);

void ring_fat_tree(benchmark::State& state) {
  const auto topology = smallest_fat_tree(state.range(0));
  measure(state, *lay_on(each("ring", state.range(0), Fidelity::Message), *topology), {all_bytes});
}
BENCHMARK(ring_fat_tree)->Name("Ring/fat-tree")->Arg(2048)->Unit(benchmark::kMillisecond);

// `simulated`: message by message.
void scattered(benchmark::State& state, const Topology& topology, bool simulated) {
  const auto workers = static_cast<Rank>(state.range(0));
  NetworkSetup ring = setup("ring", workers, Fidelity::Message, 5e-6);
  ring.reuse = !simulated;
  const auto fabric = lay_on(ring, topology);
  Random random(1, 0);
  Parties parties;
  std::vector<std::pair<Time, Rank>> starts;
  for (Rank rank = 0; rank < workers; ++rank) {
    parties.push_back({rank});
    starts.emplace_back(static_cast<std::int64_t>(random.below(1'000'000'000)), rank);
  }
  std::sort(starts.begin(), starts.end());
  for (auto _ : state) {
    const std::unique_ptr<Server> network = fabric->server_per_rank(parties);
    network->start(0, {.bytes = all_bytes}, Time(0));
    std::vector<TaskId> done;
    auto next = starts.begin();
    while (done.empty()) {
      const Time now = std::min(next == starts.end() ? never : next->first, network->next_completion());
      if (network->next_completion() == now) network->complete(now, done);
      for (; next != starts.end() && next->first == now; ++next) network->join(0, next->second, now);
    }
  }
}
void scattered_star(benchmark::State& state) { scattered(state, *star(state.range(0), ten_gigabit), false); }
void scattered_fat_tree(benchmark::State& state) { scattered(state, *smallest_fat_tree(state.range(0)), false); }
void scattered_simulated(benchmark::State& state) { scattered(state, *star(state.range(0), ten_gigabit), true); }
BENCHMARK(scattered_star)
    ->Name("RingScattered/star")
    ->RangeMultiplier(2)
    ->Range(256, 2048)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(scattered_fat_tree)
    ->Name("RingScattered/fat-tree")
    ->RangeMultiplier(2)
    ->Range(256, 2048)
    ->Unit(benchmark::kMillisecond);

BENCHMARK(scattered_simulated)
    ->Name("RingScattered/simulated/star")
    ->RangeMultiplier(2)
    ->Range(256, 2048)
    ->Unit(benchmark::kMillisecond);

void double_tree(benchmark::State& state) {
  const auto topology = smallest_fat_tree(state.range(0));
  measure(state, *lay_on(each("double-binary-tree", state.range(0), Fidelity::Message), *topology), {all_bytes});
}
BENCHMARK(double_tree)->Name("DoubleTree/fat-tree")->Arg(256)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);

// ResNet-50's 161 tensors, near enough: 53 convolutions and a classifier in their sizes, and 107 of a few kilobytes.
std::vector<Bytes> resnet50() {
  std::vector<Bytes> blocks;
  for (int i = 0; i < 54; ++i) blocks.push_back(4 * (9408 + 37'000 * i / 3));
  for (int i = 0; i < 107; ++i) blocks.push_back(4 * (64 << (i % 6)));
  return blocks;
}

void resnet_rings(benchmark::State& state) {
  const auto topology = star(state.range(0), ten_gigabit);
  measure(state, *lay_on(each("ring", state.range(0), Fidelity::Message), *topology), resnet50());
}
BENCHMARK(resnet_rings)->Name("ResNet50Rings")->Arg(256)->Unit(benchmark::kMillisecond);

void fluid_rings(benchmark::State& state) {
  const auto topology = smallest_fat_tree(state.range(0));
  for (auto _ : state) {
    const auto model = lay_on(each("ring", state.range(0), Fidelity::Fluid), *topology);
    benchmark::DoNotOptimize(run(*model->server(), resnet50()));
  }
}
BENCHMARK(fluid_rings)->Name("FluidRings")->Arg(2048)->Unit(benchmark::kMillisecond);

// Unequal blocks of this number; the same on every run.
std::vector<Bytes> unequal(std::size_t count) {
  std::vector<Bytes> blocks;
  for (std::size_t i = 0; i < count; ++i) blocks.push_back(static_cast<Bytes>(40'000 + i * 7919 % 240'007));
  return blocks;
}

// A collective that the registration names.
void fluid_in_flight(benchmark::State& state, const std::string& collective) {
  const auto topology = smallest_fat_tree(state.range(0));
  for (auto _ : state) {
    const auto model = lay_on(each(collective, state.range(0), Fidelity::Fluid), *topology);
    benchmark::DoNotOptimize(run(*model->server(), unequal(640), 4));
  }
}
BENCHMARK_CAPTURE(fluid_in_flight, ring, "ring")->Arg(2048)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fluid_in_flight, halving_doubling, "halving-doubling")->Arg(2048)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fluid_in_flight, double_binary_tree, "double-binary-tree")->Arg(2048)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fluid_in_flight, binary_tree, "binary-tree")->Arg(2048)->Unit(benchmark::kMillisecond);

void fluid_servers(benchmark::State& state) {
  const auto topology = smallest_fat_tree(state.range(0));
  for (auto _ : state) {
    const auto model = lay_on(each("parameter-server", state.range(0), Fidelity::Fluid), *topology);
    benchmark::DoNotOptimize(run(*model->server(), resnet50()));
  }
}
BENCHMARK(fluid_servers)->Name("FluidParameterServer")->Arg(2048)->Unit(benchmark::kMillisecond);

void fluid_bml(benchmark::State& state) {
  const auto topology = bcube(16, 4, 65'536, ten_gigabit);
  for (auto _ : state) {
    NetworkSetup with_levels = each("bml", 65'536, Fidelity::Fluid);
    with_levels.options.levels = 4;
    benchmark::DoNotOptimize(lay_on(with_levels, *topology)->alone(all_bytes));
  }
}
BENCHMARK(fluid_bml)->Name("FluidBml")->Unit(benchmark::kMillisecond)->Iterations(1);

void bare_heap(benchmark::State& state) {
  const auto workers = static_cast<std::uint32_t>(state.range(0));
  using Event = std::pair<std::int64_t, std::uint32_t>;
  for (auto _ : state) {
    std::priority_queue<Event, std::vector<Event>, std::greater<>> heap;
    for (std::uint32_t rank = 0; rank < workers; ++rank) heap.push({0, rank});
    for (std::int64_t left = std::int64_t{2} * (workers - 1) * workers; left > 0; --left) {
      const auto [at, rank] = heap.top();
      heap.pop();
      heap.push({at + 40'000'000, (rank + 1) % workers});
    }
    benchmark::DoNotOptimize(heap.size());
  }
}
BENCHMARK(bare_heap)->Name("BareHeap")->Arg(2048)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
