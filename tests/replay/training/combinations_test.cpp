// Every strategy with every setting of the training step, fidelity and start: each either runs or is refused.
#include <cmath>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"

using namespace allreplay;

namespace {

Scenario on_four_workers(std::string_view strategy, std::string fidelity) {
  Random random(54, 0);
  Scenario scenario = scenario_of(random_profile(random, 4), strategy, 4, 5e-6, 0);
  scenario.cluster.network.beta.reset();
  scenario.cluster.network.topology = read_topology(
      Json::parse(R"({"kind": "star", "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}})", "topology"));
  scenario.fidelity = std::move(fidelity);
  scenario.collective = "ring";
  scenario.stragglers.slow = {{1, 1.5}};
  return scenario;
}

// Returns true if the scenario ran; checks its numbers, or that its refusal is one line.
bool runs(const Scenario& scenario) {
  try {
    const Metrics metrics = simulate(scenario).metrics;
    REQUIRE(std::isfinite(metrics.iteration_s));
    REQUIRE(metrics.iteration_s >= metrics.forward_s + metrics.backward_s);
    REQUIRE(metrics.comm_busy_s <= metrics.iteration_s * (1 + 1e-12));
    const double rounding = 1e-12 * 50 * static_cast<double>(metrics.collectives);
    if (metrics.lower_bound_s) REQUIRE(metrics.iteration_s >= *metrics.lower_bound_s - rounding);
    return true;
  } catch (const InputError& error) {
    const std::string_view line = error.what();
    REQUIRE(!line.empty());
    REQUIRE(line.find('\n') == line.npos);
    return false;
  }
}

}  // namespace

// A shard group of one worker once crashed with start=ranks, since a collective among one sends nothing.
TEST_CASE(
    "every strategy runs or is refused at each ZeRO stage, in each fidelity, start, shard group and accumulation") {
  const SourceLocation place{"test", ""};
  int ran = 0, refused = 0;
  for (const Strategy& strategy : strategies())
    for (const char* fidelity : {"alpha-beta", "fluid", "message"}) {
      const Scenario base = on_four_workers(strategy.name, fidelity);
      for (const char* zero : {"", "0", "1", "2", "3"})
        for (const char* group : {"", "1", "2", "4"})
          for (const char* start : {"together", "ranks"})
            for (const char* accumulate : {"1", "2"}) {
              INFO(strategy.name << ' ' << fidelity << " zero=" << zero << " shard_group=" << group
                                 << " start=" << start << " accumulate=" << accumulate);
              Scenario scenario = base;
              if (*zero) scenario.options.set("zero", zero, place);
              if (*group) scenario.options.set("shard_group", group, place);
              scenario.options.set("start", start, place);
              scenario.options.set("accumulate", accumulate, place);
              ++(runs(scenario) ? ran : refused);
            }
    }
  CHECK(ran > 1500);
  CHECK(refused > 1500);
}
