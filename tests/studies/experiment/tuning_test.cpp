// Tuning measures each setting as if it were simulated separately, however many others have its plan.
#include "sim/studies/experiment/tuning.hpp"

#include <set>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/replay/training/memory.hpp"

using namespace allreplay;

namespace {

// The trials, and the number of them that took as long as another one.
struct Seen {
  std::size_t trials = 0, equal = 0;
};

void check_trials(const Scenario& scenario, const std::vector<Range>& ranges, Seen& seen) {
  const TuningTrace tried = try_settings(scenario, {ranges, 16, TuneMethod::Bayes, 1}, 2);
  std::set<double> times;
  for (const Trial& trial : tried.trials) {
    const Result alone = simulate(with_options(scenario, ranges, trial.values));
    INFO(scenario.strategy->name << " " << trial.values.front() << " " << trial.values.back());
    REQUIRE(trial.iteration_s == alone.metrics.iteration_s);
    REQUIRE(trial.memory_bytes == alone.memory.peak);
    REQUIRE(trial.collectives == alone.metrics.collectives);
    REQUIRE(trial.fits == fits(scenario, alone));
    times.insert(trial.iteration_s);
  }
  seen.trials += tried.trials.size();
  seen.equal += tried.trials.size() - times.size();
}

}  // namespace

TEST_CASE("a trial costs as much as its setting without others, even if several share a plan") {
  Random random(7, 0);
  Seen seen;
  for (int times = 0; times < 4; ++times)
    for (const char* name :
         {"ddp", "horovod", "bytescheduler", "us-byte", "p3", "dear", "fsdp2", "zero-2", "zero-3", "megatron"}) {
      Scenario scenario = scenario_of(random_profile(random, 12), name, 8, times % 2 == 0 ? 100e-6 : 1e-6, 1e-9);
      if (times == 3) scenario.stragglers.jitter = Jitter{.sigma = 0.1, .seed = 3};
      scenario.options.iterations = 3;
      const std::vector<Range> ranges = default_ranges(scenario);
      if (!ranges.empty()) check_trials(scenario, ranges, seen);
    }
  // Credits in bytes, whose windows may hold nothing back; with a codec, these count what is on the wire: of signs a
  // thirty-second part, of nine tenths of all numbers with their places 1.8 times as much.
  for (const char* codec : {"", "signsgd", "topk"})
    for (int times = 0; times < 4; ++times) {
      Scenario scenario = scenario_of(random_profile(random, 12), "bytescheduler", 8, 100e-6, 1e-9);
      scenario.options.sharing = Sharing::Fair;
      if (const std::string name = codec; !name.empty()) {
        scenario.collective = "all-gather";
        scenario.codec = CodecCosts{name, &find_codec(name, {}), "", "estimated", "", {5e-4}, {5e-5}};
        scenario.options.codec.density = 0.9;
      }
      check_trials(scenario,
                   {parse_range("partition=4KiB:16MiB", *scenario.strategy, {}),
                    parse_range("credit=4KiB:64MiB", *scenario.strategy, {})},
                   seen);
    }
  CHECK(seen.equal > seen.trials / 4);  // or nothing was tested
}

TEST_CASE("settings with one plan may still differ outside of the plan") {
  Profile profile;
  profile.layers = {{"l", Time(1'000'000'000), Time(2'000'000'000)}};  // 1 ms, 2 ms
  profile.tensors = {{"t", 1000, 4000, 0}};
  const Scenario scenario = scenario_of(profile, "bytescheduler", 2, 1e-3, 0);
  const std::vector<Range> ranges{parse_range("launch=0ms,1ms", *scenario.strategy, {}),
                                  parse_range("partition=1MiB:2MiB", *scenario.strategy, {})};
  const TuningTrace tried = try_settings(scenario, {ranges, 8, TuneMethod::Bayes, 1}, 1);
  // 3 ms of computing, and the collective between the passes: two start-ups, and the launch.
  std::set<std::string> launches;
  for (const Trial& trial : tried.trials) {
    CHECK(trial.iteration_s == Approx(trial.values[0] == "1ms" ? 6e-3 : 5e-3));
    launches.insert(trial.values[0]);
  }
  CHECK(launches.size() == 2);
}

TEST_CASE("options that were changed are those that differ") {
  Scenario from, to;
  to.options.set("bucket_cap", "3 MB", {});
  const NamedValues changed = changed_options(from, to);
  REQUIRE(changed.size() == 1);
  CHECK(changed[0].first == "bucket_cap");
  CHECK(changed[0].second == "3MB");
  CHECK(changed_options(to, to).empty());
}
