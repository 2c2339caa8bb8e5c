// A strategy added as docs/dev/adding.md says: its file, its row, its test.
#include <set>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/training/scenario.hpp"

#include "sim/schedule/gradients.hpp"
#include "sim/schedule/needs.hpp"
#include "sim/search/plan_of.hpp"

namespace allreplay {
namespace {
#include "docs/examples/poseidon.cpp"
}  // namespace
}  // namespace allreplay

using namespace allreplay;

TEST_CASE("a strategy is a function and a row: what it promises alone") {
  const Strategy poseidon{.name = "poseidon", .summary = "a layer's gradients together", .schedule = schedule_poseidon};
  Random random(91, 0);
  for (int round = 0; round < 50; ++round) {
    Scenario scenario = scenario_of(random_profile(random, 12), "wfbp", 8, 50e-6, 1e-9);
    const double tensor_by_tensor = simulate(scenario).metrics.iteration_s;
    scenario.strategy = &poseidon;
    const Result result = simulate(scenario);
    // As many collectives as layers have tensors, and never slower than one for each tensor: bytes that are ready
    // together save their start-ups by going together (a relative 1e-12: each block's time is rounded once).
    std::set<LayerId> layers;
    for (const Tensor& tensor : scenario.profile->tensors) layers.insert(tensor.layer);
    CHECK(result.metrics.collectives == static_cast<std::int64_t>(layers.size()));
    CHECK(result.metrics.iteration_s <= tensor_by_tensor * (1 + 1e-12) + 1e-9);
    CHECK(result.plan.strategy == "poseidon");
  }
}

TEST_CASE("Poseidon by hand") {
  // Layers a (B 2 ms, 1 MB and 1 MB) and b (B 3 ms, 2 MB) at 1 ms + 1 ns/B on two workers (a ring of two: a = 2·0.5
  // ms). b: 3 to 6 ms. a is ready at 5, travels 6 to 9 ms; tensor by tensor it would be 6 to 10.
  Profile profile;
  profile.layers = {{"a", to_time(1e-3), to_time(2e-3)}, {"b", to_time(1e-3), to_time(3e-3)}};
  for (const auto& [name, layer] : {std::pair("a.w", 0), {"a.b", 0}})
    profile.tensors.push_back({name, 250'000, 1'000'000, static_cast<LayerId>(layer)});
  profile.tensors.push_back({"b.w", 500'000, 2'000'000, 1});
  const Strategy poseidon{.name = "poseidon", .summary = "", .schedule = schedule_poseidon};
  Scenario scenario = scenario_of(profile, "wfbp", 2, 0.5e-3, 1e-9);
  CHECK(simulate(scenario).metrics.iteration_s == Approx(12e-3));
  scenario.strategy = &poseidon;
  CHECK(simulate(scenario).metrics.iteration_s == Approx(11e-3));
}
