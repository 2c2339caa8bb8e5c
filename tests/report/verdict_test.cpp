#include "sim/report/verdict.hpp"

#include "tests/catch.hpp"
#include "tests/training/scenario.hpp"

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

std::string labels(const std::vector<Outcome>& outcomes) {
  const ScenarioLabels names = labels_of(outcomes);
  std::string text = names.title() + ": ";
  for (const Standing& one : in_order(outcomes)) text += (one.first ? "*" : "") + names.label(one.place) + "; ";
  return text;
}

}  // namespace

TEST_CASE("the fastest is said, what comes next, and the best of each other cluster") {
  const std::vector<Outcome> outcomes{outcome("ddp", "a", 120), outcome("wfbp", "a", 100), outcome("wfbp", "b", 150),
                                      outcome("ddp", "b", 140), outcome("ddp", "c", 110)};
  CHECK(verdict(outcomes) ==
        "Fastest: wfbp on a, 100 ms, 1.25x its lower bound. Next: ddp on c, 110 ms, 1.10x that. Elsewhere: ddp on b, "
        "140 ms, 1.40x that.\n");
  CHECK(labels(outcomes) == "p: 8 workers, ring, alpha-beta: *wfbp on a; ddp on c; ddp on a; ddp on b; wfbp on b; ");
}

TEST_CASE("what is as fast, as it is printed, wins together") {
  std::vector<Outcome> outcomes{outcome("ddp", "a", 100.001), outcome("wfbp", "a", 100)};
  CHECK(verdict(outcomes) == "Fastest: wfbp and ddp, 100 ms each, 1.25x the lower bound.\n");
  for (const char* name : {"p3", "dear", "best"}) outcomes.push_back(outcome(name, "a", 100.002));
  outcomes.push_back(outcome("s-sgd", "a", 200));
  CHECK(verdict(outcomes) ==
        "Fastest: wfbp, ddp, p3 and 2 more, 100 ms each, 1.25x the lower bound. Next: s-sgd, 200 ms, 2.00x that.\n");
}

TEST_CASE("workers and fidelities do not compete") {
  std::vector<Outcome> outcomes{outcome("ddp", "a", 100), outcome("wfbp", "a", 92), outcome("ddp", "a", 130),
                                outcome("wfbp", "a", 120)};
  for (const std::size_t i : {0, 1}) outcomes[i].scenario.workers = 16;
  CHECK(verdict(outcomes) ==
        "Fastest on 8 workers: wfbp, 120 ms, 1.50x its lower bound. Next: ddp, 130 ms, 1.08x that.\n"
        "Fastest on 16 workers: wfbp, 92 ms, 1.15x its lower bound. Next: ddp, 100 ms, 1.09x that.\n");
  CHECK(labels(outcomes) ==
        "p on a: ring, alpha-beta: *wfbp, 8 workers; ddp, 8 workers; *wfbp, 16 workers; ddp, 16 workers; ");
  outcomes.erase(outcomes.begin());
  outcomes.front().scenario.workers = 8;  // 92, 130 and 120 ms; one of another fidelity runs alone
  outcomes.front().result.fidelity = Fidelity::Fluid;
  CHECK(races(outcomes) == std::vector<Race>{{0}, {2, 1}});
  CHECK(verdict({outcome("ddp", "a", 100)}).empty());
}

TEST_CASE("what does not fit into memory does not win") {
  std::vector<Outcome> outcomes{outcome("ddp", "a", 100), outcome("zero-3", "a", 152), outcome("fsdp2", "a", 160)};
  for (Outcome& one : outcomes) one.scenario.options.memory.limit = 1000;
  outcomes[0].result.memory.peak = 1001;
  CHECK(verdict(outcomes) == "Fastest: zero-3, 152 ms, 1.90x its lower bound. Next: fsdp2, 160 ms, 1.05x that.\n");
  CHECK(labels(outcomes) == "p on a: 8 workers, ring, alpha-beta: *zero-3; fsdp2; ddp; ");
  for (Outcome& one : outcomes) one.result.memory.peak = 1001;
  CHECK(verdict(outcomes) == "Fastest: none, as nothing fits into memory.\n");
}
