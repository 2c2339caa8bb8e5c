// Ranks that start each when its worker is ready (start=ranks).
#include <algorithm>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"
#include "tests/replay/training/tasks.hpp"

#include "sim/base/core/file.hpp"
#include "sim/inputs/workload/profile_file.hpp"

using namespace allreplay;

namespace {

Scenario on_topology(Profile profile, std::string_view strategy, std::int64_t workers, const std::string& topology,
                     const char* collective, double alpha) {
  Scenario scenario = scenario_of(std::move(profile), strategy, workers, alpha, 0);
  scenario.cluster.network.beta.reset();
  scenario.cluster.network.topology = read_topology(Json::parse(topology, "topology"));
  scenario.fidelity = "message";
  scenario.collective = collective;
  return scenario;
}

// Only start-ups, of the given seconds, take time.
Scenario on_idle_star(Profile profile, std::string_view strategy, std::int64_t workers, const char* collective,
                      double alpha) {
  const std::string star = R"({"kind": "star", "link": {"latency": "0 s", "bandwidth": "1e15 B/s"}})";
  return on_topology(std::move(profile), strategy, workers, star, collective, alpha);
}

constexpr const char* ten_gigabit_star = R"({"kind": "star", "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}})";

Result with(Scenario scenario, Start start) {
  scenario.options.start = start;
  return simulate(scenario);
}

// A tensor of one element in each; F and B in ms.
Profile layers(const std::vector<std::pair<double, double>>& times) {
  Profile profile;
  for (const auto& [forward, backward] : times) {
    profile.tensors.push_back({"t", 1, 4, static_cast<LayerId>(profile.layers.size())});
    profile.layers.push_back({"l", to_time(forward * 1e-3), to_time(backward * 1e-3)});
  }
  return profile;
}

std::pair<double, double> in_ms(const Span& span) { return {to_seconds(span.start) * 1e3, to_seconds(span.end) * 1e3}; }

void check_span(const Result& result, std::size_t transfer, double start, double end) {
  const auto [from, to] = in_ms(result.episodes.back().timeline.spans[result.unrolled.transfer(transfer)]);
  CHECK(from == Approx(start));
  CHECK(to == Approx(end));
}

}  // namespace

TEST_CASE("a straggler at the leaf of a tree: the others have finished when it starts") {
  // Four workers, a binomial tree of 4 start-ups of 0.25 ms; rank 1, a leaf under the root, takes twice as long: F 6,
  // B2 6, B1 8 ms against 3, 3, 4. Let all start F together, when block 1 is done.
  Scenario scenario = on_idle_star(layers({{1, 4}, {2, 3}}), "wfbp", 4, "binary-tree", 0.25e-3);
  scenario.stragglers.slow = {{1, 2}};
  // Together, block 2 starts at 12 and block 1 at 20, and each takes 1 ms: F again at 21.
  const Result together = with(scenario, Start::Together);
  CHECK(together.metrics.iteration_s == Approx(21e-3));
  // With per-rank starts, block 2 starts at 6. Rank 1 joins at 12, and three steps are left, 1 → 0, 0 → 2, and 0 → 1
  // together with 2 → 3: until 12.75. Then block 1 starts, for which the others are ready since 10; rank 1 joins at 20:
  // F again at 20.75.
  const Result per_rank_start = with(scenario, Start::Ranks);
  CHECK(per_rank_start.metrics.iteration_s == Approx(20.75e-3));
  CHECK(per_rank_start.metrics.comm_busy_s == Approx(14.75e-3));
  // Counted from the first B2, at 3.
  check_span(per_rank_start, 0, 3, 9.75);
  check_span(per_rank_start, 1, 9.75, 17.75);
}

TEST_CASE("a straggler in a ring: no rank gains") {
  // The same four, as a ring of 6 start-ups: the straggler's slice makes one round to be summed and one to be
  // distributed, so that all 6 follow its start, 1 ms. Twelve, thirteen; twenty, twenty-one.
  Scenario scenario = on_idle_star(layers({{1, 4}, {2, 3}}), "wfbp", 4, "ring", 1e-3 / 6);
  scenario.stragglers.slow = {{1, 2}};
  CHECK(with(scenario, Start::Together).metrics.iteration_s == Approx(21e-3));
  const Result per_rank_start = with(scenario, Start::Ranks);
  CHECK(per_rank_start.metrics.iteration_s == Approx(21e-3));
  check_span(per_rank_start, 0, 3, 10);
  check_span(per_rank_start, 1, 10, 18);
}

TEST_CASE("by priority, an urgent block can hold the window for a straggler, and the iteration is longer") {
  // Two workers, a ring of 1 ms; three layers of B = 1, F = 0.2, 1, 1; worker 1 takes four times as long. From its B3:
  // together, block 3 goes 4-5, block 2 8-9, block 1 12-13; F1 until 13.8, F2 17.8, F3 21.8.
  Scenario scenario = on_idle_star(layers({{0.2, 1}, {1, 1}, {1, 1}}), "bytescheduler", 2, "ring", 0.5e-3);
  scenario.options.strategy.credit = {.count = 1};
  scenario.stragglers.slow = {{1, 4}};
  CHECK(with(scenario, Start::Together).metrics.iteration_s == Approx(21.8e-3));
  // With per-rank starts, worker 0 has all blocks ready before the straggler's B3. When block 3 is done, at 5, block 1
  // goes before block 2, as the more urgent, and waits for the straggler until 12; block 2 follows 13-14, and F2 waits
  // for it: 22.
  CHECK(with(scenario, Start::Ranks).metrics.iteration_s == Approx(22e-3));
}

TEST_CASE("for any start times, all bytes of a call pass its busiest link") {
  // Two workers, a ring: each sends as much as there is, 1.25 and 2.5 MB at 1.25 GB/s: 1 and 2 ms. Computing takes
  // less.
  Profile profile = layers({{0.1, 0.1}, {0.1, 0.1}});
  profile.tensors = {{"a", 312'500, 1'250'000, 0}, {"b", 625'000, 2'500'000, 1}};
  const std::string star = R"({"kind": "star", "link": {"latency": "0 s", "bandwidth": "10 Gbit/s"}})";
  Scenario scenario = on_topology(profile, "wfbp", 2, star, "ring", 0);
  scenario.stragglers.slow = {{1, 2}};
  CHECK(*with(scenario, Start::Ranks).metrics.lower_bound_s == Approx(3e-3));
}

TEST_CASE("each rank launches for itself, when it is there") {
  // As the first tree, with launches of 0.5 ms: the others' are over when rank 1 joins; its own ends at 12.5 and 20.5.
  Scenario scenario = on_idle_star(layers({{1, 4}, {2, 3}}), "wfbp", 4, "binary-tree", 0.25e-3);
  scenario.stragglers.slow = {{1, 2}};
  scenario.options.launch = to_time(0.5e-3);
  CHECK(with(scenario, Start::Together).metrics.iteration_s == Approx(21.5e-3));
  CHECK(with(scenario, Start::Ranks).metrics.iteration_s == Approx(21.25e-3));
}

TEST_CASE("without late ranks, ranks start together") {
  // Real profiles under all strategies agree to the last bit in all that is measured.
  int compared = 0;
  for (const char* name : {"resnet50_p100_b64", "vgg16_p100_b64"}) {
    const Shared<Profile> profile =
        read_profile(Files(), ALLREPLAY_SOURCE_DIR "/traces/" + std::string(name) + ".json");
    for (const Strategy& strategy : strategies()) {
      if (strategy.name == "best" || strategy.local_steps) continue;
      Scenario scenario = on_topology(profile, strategy.name, 8, ten_gigabit_star, "ring", 10e-6);
      INFO(name << " " << strategy.name);
      const Result together = with(scenario, Start::Together), per_rank_start = with(scenario, Start::Ranks);
      CHECK(per_rank_start.metrics.iteration_s == together.metrics.iteration_s);
      CHECK(per_rank_start.metrics.comm_busy_s == together.metrics.comm_busy_s);
      CHECK(per_rank_start.metrics.lower_bound_s == together.metrics.lower_bound_s);
      CHECK(per_rank_start.metrics.events == together.metrics.events);
      CHECK(per_rank_start.memory.peak == together.memory.peak);
      ++compared;
    }
  }
  CHECK(compared > 20);
}

TEST_CASE("equal workers in separate classes start together, too") {
  // Each is a party of its own then, and every message is simulated.
  Random random(41, 0);
  for (const Strategy& strategy : strategies()) {
    if (strategy.name == "best" || strategy.local_steps) continue;
    for (const char* collective : {"ring", "double-binary-tree", "halving-doubling"}) {
      Scenario scenario = on_topology(random_profile(random, 8), strategy.name, 8, ten_gigabit_star, collective, 10e-6);
      scenario.options.strategy.cycle = to_time(300e-6);
      if (random.below(2) == 0) scenario.options.launch = to_time(30e-6);
      INFO(strategy.name << " " << collective);
      const Result together = with(scenario, Start::Together);
      scenario.fold = false;
      const Result per_rank_start = with(scenario, Start::Ranks);
      CHECK(per_rank_start.classes.size() == 8);
      CHECK(per_rank_start.metrics.iteration_s == together.metrics.iteration_s);
      CHECK(per_rank_start.metrics.comm_busy_s == together.metrics.comm_busy_s);
    }
  }
}

namespace {

Scenario random_scenario_apart(Random& random, std::string_view strategy) {
  const auto pick = [&](std::initializer_list<const char*> names) { return names.begin()[random.below(names.size())]; };
  const std::string shape = pick({R"("kind": "star")", R"("kind": "fat-tree", "ports": 4)",
                                  R"("kind": "bcube", "n": 2, "k": 3)", R"("kind": "torus", "dimensions": [4, 4])",
                                  R"("kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 2)"});
  const std::string topology = "{" + shape + R"(, "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}})";
  const char* collective =
      pick({"ring", "parameter-server", "halving-doubling", "double-binary-tree", "hierarchical", "binary-tree"});
  Scenario scenario = on_topology(random_profile(random, 10), strategy, 8, topology, collective,
                                  static_cast<double>(random.below(100)) * 1e-6);
  scenario.cluster.network.gamma = random.below(2) == 0 ? 0 : 1e-11;
  StrategyOptions& options = scenario.options.strategy;
  options.bucket_cap = options.threshold = static_cast<Bytes>(1 + random.below(8'000'000));
  options.cycle = to_time(static_cast<double>(1 + random.below(2000)) * 1e-6);
  if (random.below(3) == 0) scenario.options.launch = to_time(static_cast<double>(random.below(100)) * 1e-6);
  scenario.stragglers.slow = {
      {static_cast<std::int64_t>(random.below(8)), 1.1 + static_cast<double>(random.below(9)) / 4}};
  if (random.below(2) == 0) scenario.stragglers.slow.push_back({static_cast<std::int64_t>(random.below(8)), 0.75});
  return scenario;
}

// Checks for each transfer what must end on a class before it joins, and what may start on it only then.
void check_transfers(const Result& result) {
  const Unrolled& u = result.unrolled;
  const std::vector<Span>& spans = result.episodes.back().timeline.spans;
  std::vector<std::size_t> parties(u.transfers, 0);
  std::vector<Time> first(u.transfers, never);
  for (TaskId id = 0; id < u.labels.size(); ++id) {
    const Label& label = u.labels[id];
    for (const TaskId next : u.graph.successors(id)) {
      REQUIRE(spans[id].end <= (u.labels[next].kind == Activity::Transfer ? spans[next].end : spans[next].start));
    }
    if (label.kind != Activity::Arrival) continue;
    // The transfer ends after the last arrival, whichever that is.
    REQUIRE(spans[id].start == spans[id].ready);
    REQUIRE(spans[id].end == spans[id].start);
    REQUIRE(spans[id].end <= spans[u.transfer(label.item)].end);
    first[label.item] = std::min(first[label.item], spans[id].end);
    ++parties[label.item];
  }
  for (std::size_t index = 0; index < u.transfers; ++index) {
    REQUIRE(parties[index] == u.classes);
    REQUIRE(spans[u.transfer(index)].ready == first[index]);
  }
}

}  // namespace

TEST_CASE("with per-rank starts every strategy keeps the order of transfers, and is no faster than possible") {
  Random random(42, 0);
  int per_rank_start = 0, sooner = 0;
  for (int round = 0; round < 6; ++round)
    for (const Strategy& strategy : strategies()) {
      if (strategy.name == "best" || strategy.local_steps) continue;
      Scenario scenario = random_scenario_apart(random, strategy.name);
      INFO(strategy.name << " round " << round);
      const Result result = with(scenario, Start::Ranks);
      if (result.unrolled.transfers == 0 || result.classes.size() == 1) continue;
      check_transfers(result);
      if (result.metrics.lower_bound_s)
        REQUIRE(result.metrics.iteration_s >=
                *result.metrics.lower_bound_s - 1e-12 * 50 * static_cast<double>(result.metrics.collectives));
      REQUIRE(result.metrics.comm_busy_s <= result.metrics.iteration_s * (1 + 1e-12));
      ++per_rank_start;
      sooner += result.metrics.iteration_s < with(scenario, Start::Together).metrics.iteration_s;
    }
  CHECK(per_rank_start > 60);
  CHECK(sooner > 0);
}

TEST_CASE("repeated runs, and runs with equal workers in separate classes, give the same result") {
  Random random(43, 0);
  for (int round = 0; round < 2; ++round)
    for (const Strategy& strategy : strategies()) {
      if (strategy.name == "best" || strategy.local_steps) continue;
      Scenario scenario = random_scenario_apart(random, strategy.name);
      scenario.cluster.network.gamma = 0;
      INFO(strategy.name << " round " << round);
      const Result once = with(scenario, Start::Ranks), again = with(scenario, Start::Ranks);
      REQUIRE(once.metrics.iteration_s == again.metrics.iteration_s);
      REQUIRE(once.metrics.events == again.metrics.events);
      REQUIRE(once.episodes.back().timeline.spans.size() == again.episodes.back().timeline.spans.size());
      scenario.fold = false;
      REQUIRE(with(scenario, Start::Ranks).metrics.iteration_s == once.metrics.iteration_s);
      scenario.stragglers.jitter = Jitter{JitterKind::LogNormal, 0.2, 42};
      scenario.options.iterations = 3;
      const double jittered = with(scenario, Start::Ranks).metrics.iteration_s;
      REQUIRE(jittered > 0);
      REQUIRE(jittered == with(scenario, Start::Ranks).metrics.iteration_s);
    }
}

// On a star a ring's ranks each have their links to themselves: a transfer's end is a maximum of sums of its ranks'
// starts and fixed times, and so is an iteration's where transfers go one by one, in an order in which all come.
TEST_CASE("one at a time and in order, rings on a star never lose by per-rank starts") {
  Random random(44, 0);
  for (int round = 0; round < 10; ++round)
    for (const char* strategy : {"wfbp", "s-sgd", "sync-easgd", "mg-wfbp", "ddp", "mergecomp", "optimal-merge"}) {
      Scenario scenario = random_scenario_apart(random, strategy);
      scenario.cluster.network.topology = read_topology(Json::parse(ten_gigabit_star, "topology"));
      scenario.collective = "ring";
      INFO(strategy << " round " << round);
      const Result together = with(scenario, Start::Together), per_rank_start = with(scenario, Start::Ranks);
      REQUIRE(per_rank_start.metrics.iteration_s <=
              together.metrics.iteration_s + 1e-12 * 20 * static_cast<double>(per_rank_start.metrics.collectives));
    }
}

TEST_CASE("only the fidelity message supports per-rank starts") {
  Scenario scenario = on_topology(layers({{1, 1}}), "wfbp", 4, ten_gigabit_star, "ring", 0);
  scenario.options.set("start", "ranks", {"command line", "--option"});
  CHECK(scenario.options.start == Start::Ranks);
  for (const char* fidelity : {"fluid", "alpha-beta"}) {
    scenario.fidelity = fidelity;
    CHECK(error_place([&] { simulate(scenario); }) == "command line: --option");
  }
}
