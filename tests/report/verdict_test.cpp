#include "sim/report/verdict.hpp"

#include "tests/catch.hpp"
#include "tests/training/scenario.hpp"

#include "sim/report/phrases.hpp"
#include "sim/report/report.hpp"

using namespace allreplay;

namespace {

Outcome outcome(std::string_view strategy, const std::string& cluster, double iteration_ms) {
  Profile profile;
  profile.name = "p";
  profile.layers.push_back({"l", to_time(1e-3), to_time(2e-3)});
  profile.tensors.push_back({"t", 1000, 4000, 0});
  Outcome one{scenario_of(profile, strategy, 8, 1e-6, 1e-9), {}, 0};
  one.scenario.cluster.name = cluster;
  one.result.metrics.iteration_s = iteration_ms / 1000;
  one.result.metrics.lower_bound_s = 0.08;
  one.result.fidelity = Fidelity::AlphaBeta;
  return one;
}

const WinningRule exact{.tie = 0};

// In their order; a star for each that ties for the first place.
std::string labels(const std::vector<Outcome>& outcomes, const WinningRule& rule = exact) {
  const ScenarioLabels names = labels_of(outcomes);
  std::string text = names.title() + ": ";
  for (const Ranking& race : races(outcomes, rule))
    for (std::size_t i = 0; i < race.order.size(); ++i)
      text += (i < race.tied ? "*" : "") + names.label(race.order[i]) + "; ";
  return text;
}

}  // namespace

TEST_CASE("the winner is said, what comes next, and the best of each other cluster") {
  const std::vector<Outcome> outcomes{outcome("ddp", "a", 120), outcome("wfbp", "a", 100), outcome("wfbp", "b", 150),
                                      outcome("ddp", "b", 140), outcome("ddp", "c", 115)};
  CHECK(verdict(outcomes, {}) ==
        "Run wfbp on a: 100 ms (1.25x its lower bound), the fastest. Next: ddp on c, 115 ms, 1.15 times as long. "
        "Elsewhere: ddp on b, 140 ms, 1.40 times as long.\n");
  CHECK(labels(outcomes) == "p: 8 workers, ring, alpha-beta: *wfbp on a; ddp on c; ddp on a; ddp on b; wfbp on b; ");
}

TEST_CASE("of a tie the simplest to run wins, and the others are named, the fastest first") {
  std::vector<Outcome> outcomes{outcome("wfbp", "a", 100), outcome("ddp", "a", 101)};
  CHECK(labels(outcomes, {}) == "p on a: 8 workers, ring, alpha-beta: *ddp; *wfbp; ");
  const std::string said = verdict(outcomes, {});
  CHECK(said ==
        "Run ddp: 101 ms (1.26x its lower bound), within 2 % of the fastest (wfbp, 100 ms), and simpler to run.\n");
  CHECK(labels(outcomes, {.runs_now = "wfbp"}) == "p on a: 8 workers, ring, alpha-beta: *wfbp; *ddp; ");
  CHECK(labels(outcomes) == "p on a: 8 workers, ring, alpha-beta: *wfbp; ddp; ");
}

TEST_CASE("workers and fidelities do not compete") {
  std::vector<Outcome> outcomes{outcome("ddp", "a", 100), outcome("wfbp", "a", 92), outcome("ddp", "a", 130),
                                outcome("wfbp", "a", 120)};
  for (const std::size_t i : {0, 1}) outcomes[i].scenario.workers = 16;
  CHECK(labels(outcomes) ==
        "p on a: ring, alpha-beta: *wfbp, 8 workers; ddp, 8 workers; *wfbp, 16 workers; ddp, 16 workers; ");
  const std::string said = verdict(outcomes, {});
  CHECK(said.find("On 8 workers, run wfbp: 120 ms") != std::string::npos);
  CHECK(said.find("On 16 workers, run wfbp: 92 ms") != std::string::npos);
  outcomes.erase(outcomes.begin());
  outcomes.front().scenario.workers = 8;  // 92, 130 and 120 ms; one of another fidelity runs alone
  outcomes.front().result.fidelity = Fidelity::Fluid;
  const std::vector<Ranking> all = races(outcomes, {});
  REQUIRE(all.size() == 2);
  CHECK(all[0].order == std::vector<std::size_t>{0});
  CHECK(all[1].order == std::vector<std::size_t>{2, 1});
  CHECK(verdict({outcome("ddp", "a", 100)}, {}).empty());
}

TEST_CASE("what does not fit into memory does not win") {
  std::vector<Outcome> outcomes{outcome("ddp", "a", 100), outcome("zero-3", "a", 152), outcome("fsdp2", "a", 160)};
  for (Outcome& one : outcomes) one.scenario.options.memory.limit = 1000;
  outcomes[0].result.memory.peak = 1001;
  CHECK(labels(outcomes, {}) == "p on a: 8 workers, ring, alpha-beta: *zero-3; fsdp2; ddp; ");
  for (Outcome& one : outcomes) one.result.memory.peak = 1001;
  CHECK(verdict(outcomes, {}) == "Nothing fits into memory.\n");
}

TEST_CASE("iterations of other numbers of samples are compared, and quoted, by samples per second") {
  // 8 workers of 32 samples: 4 micro-batches in 400 ms are 2560 samples/s, one in 103 ms 2485.4: 3 % longer each.
  std::vector<Outcome> outcomes{outcome("ddp", "a", 103), outcome("ddp", "a", 400)};
  outcomes[1].scenario.options.strategy.sharding.accumulate = outcomes[1].result.plan.sharding.accumulate = 4;
  outcomes[1].result.metrics.lower_bound_s = 0.32;
  const std::string unknown = verdict(outcomes, {});
  outcomes[0].result.metrics.samples_per_s = 8 * 32 / 0.103;
  outcomes[1].result.metrics.samples_per_s = 8 * 4 * 32 / 0.4;
  const std::vector<Ranking> all = races(outcomes, {});
  REQUIRE(all.size() == 1);
  CHECK(all[0].order == std::vector<std::size_t>{1, 0});
  CHECK(differ_in_samples(all[0], outcomes));
  CHECK(verdict(outcomes, {}) ==
        "Run ddp, 4 micro-batches: 2560.0 samples/s (1.25x its lower bound), the fastest. Next: ddp, 1 micro-batch, "
        "2485.4 samples/s, 3.0 % longer per sample.\n");
  // Without a batch size, micro-batches count: 8 · 4 / 0.4 = 80 a second.
  CHECK(unknown.find("80.0 micro-batches/s") != std::string::npos);
  CHECK_FALSE(differ_in_samples(races({outcomes[0], outcomes[0]}, {})[0], {outcomes[0], outcomes[0]}));
}

TEST_CASE("a faster one that does not fit is no contradiction, and names with commas are told apart") {
  std::vector<Outcome> outcomes{outcome("ddp", "a", 101), outcome("wfbp", "a", 100), outcome("best", "a", 90)};
  outcomes[2].scenario.options.memory.limit = 1000;
  outcomes[2].result.memory.peak = 2000;
  CHECK(verdict(outcomes, {}) ==
        "Run ddp: 101 ms (1.26x its lower bound), within 2 % of the fastest that fits (wfbp, 100 ms), and simpler to "
        "run.\n");
  CHECK(listed({"a", "b, 2", "c"}) == "a; b, 2; and c");
  CHECK(listed({"a", "b", "c"}) == "a, b and c");
}

TEST_CASE("schedules that shard nothing have one bound, and sharded ones a range of their own") {
  std::vector<Outcome> outcomes{outcome("ddp", "a", 101), outcome("fsdp2", "a", 100), outcome("zero-2", "a", 90)};
  CHECK(bounds_text(outcomes) == "lower bound of any schedule: 80 ms");
  outcomes[1].result.plan.sharding.zero = 3;
  outcomes[2].result.plan.sharding.zero = 2;
  CHECK(bounds_text(outcomes) == "lower bound of any schedule without shards: 80 ms; of sharded ones: 80 ms");
  outcomes[2].result.metrics.lower_bound_s = 0.07;
  CHECK(bounds_text(outcomes) ==
        "lower bound of any schedule without shards: 80 ms; of sharded ones, each its own: 70 ms to 80 ms");
  outcomes.erase(outcomes.begin());
  CHECK(bounds_text(outcomes) == "lower bound of sharded schedules, each its own: 70 ms to 80 ms");
}
