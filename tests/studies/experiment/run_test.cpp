#include "sim/studies/experiment/run.hpp"

#include <set>

#include "tests/catch.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/studies/experiment/scaling.hpp"
#include "sim/studies/experiment/side_by_side.hpp"
#include "sim/studies/results/row.hpp"

using namespace allreplay;

TEST_CASE("a search's row shows the options of the plans that it started from") {
  Profile profile;
  profile.layers = {{"l", to_time(1e-3), to_time(2e-3)}};
  profile.tensors = {{"t", 1000, 4000, 0}};
  const auto names = [&](const char* strategy, const char* stage) {
    Scenario scenario = scenario_of(profile, strategy, 4, 1e-6, 1e-9);
    scenario.options.set("bucket_cap", "1 MiB", {"command line", "--bucket-cap"});
    if (std::string(stage) != "0") scenario.options.set("zero", stage, {"command line", "--zero"});
    std::set<std::string> found;
    for (const auto& [name, value] : options_in_effect(scenario)) found.insert(name);
    return found;
  };
  CHECK(names("ddp", "0").contains("bucket_cap"));
  CHECK(names("best", "0").contains("bucket_cap"));  // ddp's, which it starts from
  CHECK(!names("p3", "0").contains("bucket_cap"));
  // Over units it starts from plans of units: what it says of blocks is not asked.
  for (const std::string_view name : find_strategy("best", {}).options)
    CHECK(!names("best", "3").contains(std::string(name)));
}

TEST_CASE("progress counts the replays of all seeds, and with jitter their iterations") {
  Profile profile;
  profile.layers = {{"l", to_time(1e-3), to_time(2e-3)}};
  profile.tensors = {{"t", 1000, 4000, 0}};
  const auto steps = [&](bool jitter, bool spread, std::vector<std::uint64_t> seeds) {
    Scenario scenario = scenario_of(profile, "ddp", 4, 1e-6, 1e-9);
    if (jitter) scenario.stragglers.jitter = Jitter{JitterKind::LogNormal, 0.1, 3};
    if (spread) scenario.stragglers.spread = Spread{JitterKind::Normal, 0.05, {}};
    scenario.options.iterations = 7;
    scenario.seeds = std::move(seeds);
    std::size_t told = 0, told_alongside = 0;
    run(scenario, [&] { ++told; });
    run_side_by_side({scenario, scenario}, {.jobs = 2, .advance = [&] { ++told_alongside; }});
    CHECK(told == steps_of(scenario));
    CHECK(told_alongside == 2 * told);
    return told;
  };
  CHECK(steps(false, false, {}) == 1);
  CHECK(steps(false, true, {}) == 1);
  CHECK(steps(true, false, {}) == 7);
  CHECK(steps(false, false, {1, 2, 3}) == 1);  // nothing is random: one replay answers for all
  CHECK(steps(false, true, {1, 2, 3}) == 3);
  CHECK(steps(true, true, {1, 2, 3}) == 21);
}

TEST_CASE("a scenario that fails counts all its steps") {
  Profile profile;
  profile.layers = {{"l", to_time(1e-3), to_time(2e-3)}};
  profile.tensors = {{"t", 1000, 4000, 0}};
  Scenario scenario = scenario_of(profile, "ddp", 4, 1e-6, 1e-9);
  scenario.stragglers.spread = Spread{JitterKind::Normal, 0.05, {}};
  scenario.seeds = {1, 2, 3};
  scenario.collective = "no such";
  std::size_t told = 0;
  const auto attempts = run_side_by_side({scenario}, {.jobs = 1, .advance = [&] { ++told; }});
  CHECK(attempts.front().wrong);
  CHECK(told == 3);
}

TEST_CASE("an efficiency over a worker's computing is not said to be over a run that also copies") {
  // FSDP2 on one worker copies, so that run has an efficiency below 1, relative to the computing that counts as 1.
  Profile profile;
  profile.layers = {{"l", to_time(1e-3), to_time(2e-3)}};
  profile.tensors = {{"t", 1000, 4000, 0}};
  const auto reference_of = [&](double copies) {
    Scenario scenario = scenario_of(profile, "fsdp2", 1, 1e-6, 1e-9);
    scenario.options.strategy.fsdp.copy_of_device = copies;
    const Outcome outcome = run(scenario);
    const ScalingReference reference = scaling_reference(outcome);
    CHECK((reference.relative(outcome) < 0.999) == (copies > 0));
    return reference.in_words();
  };
  CHECK(reference_of(0) == "--workers 1");
  CHECK(reference_of(4000 / 1e-3) == "computation alone");
}

TEST_CASE("progress counts the replays for the reference of scaling efficiency") {
  Profile profile;
  profile.layers = {{"l", to_time(1e-3), to_time(2e-3)}};
  profile.tensors = {{"t", 1000, 4000, 0}};
  // Parameters, gradients and two moments take 16 kB in all: a shard of fsdp2 fits from some number of workers on.
  const auto told_with = [&](Bytes limit) {
    Scenario scenario = scenario_of(profile, "fsdp2", 16, 1e-6, 1e-9);
    scenario.options.memory.limit = limit;
    const Outcome outcome = run(scenario);
    std::size_t announced = 0, told = 0;
    const ScalingReference reference = scaling_reference(outcome, [&](std::size_t steps) {
      announced += steps;
      return [&] { ++told; };
    });
    CHECK(announced == 4);  // 1, 2, 4 and 8 workers
    return std::pair(reference.workers, told);
  };
  const std::size_t whole =
      static_cast<std::size_t>(run(scenario_of(profile, "fsdp2", 1, 1e-6, 1e-9)).result.memory.peak);
  CHECK(told_with(static_cast<Bytes>(whole)) == std::pair(std::int64_t{1}, std::size_t{1}));
  const auto [workers, told] = told_with(static_cast<Bytes>(whole) - 1);
  CHECK(workers > 1);
  CHECK(told >= 2);
}
