#include "sim/experiment/recommend.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "sim/experiment/tuning.hpp"
#include "sim/schedule/offer.hpp"
#include "sim/search/plan_of.hpp"
#include "sim/training/memory.hpp"

namespace allreplay {

namespace {

const Metrics& metrics(const Advice& advice) { return advice.tuned.result.metrics; }

// Of the settings that are as fast as any, but for 0.5 %, the one that starts the fewest collectives: start-ups that
// overlap cost nothing here, but something in any real library. The options as given win a tie.
Outcome calmest(const Tuning& tuning) {
  constexpr double slack = 1.005;
  const double limit =
      fits(tuning.given.scenario, tuning.given.result)
          ? std::min(slack * tuning.tuned.result.metrics.iteration_s, tuning.given.result.metrics.iteration_s)
          : slack * tuning.tuned.result.metrics.iteration_s;
  const bool given =
      fits(tuning.given.scenario, tuning.given.result) || !fits(tuning.tuned.scenario, tuning.tuned.result);
  Outcome calm = given && tuning.given.result.metrics.iteration_s <= limit ? tuning.given : tuning.tuned;
  for (const Trial& trial : tuning.trials) {
    if (trial.iteration_s > limit || !trial.fits) continue;
    const Outcome outcome = run(as_printed(with_options(tuning.given.scenario, tuning.ranges, trial.values)));
    if (outcome.result.metrics.collectives < calm.result.metrics.collectives) calm = outcome;
  }
  return calm;
}

Advice advise(const Scenario& scenario, const RecommendRequest& request) {
  const std::vector<Range> ranges = default_ranges(*scenario.strategy, scenario.profile);
  Advice advice;
  if (ranges.empty() || scenario.workers == 1) {
    advice.tuned = run(as_printed(scenario));
    advice.given_s = metrics(advice).iteration_s;
  } else {
    const TuneRequest tune{ranges, request.budget, TuneMethod::Bayes, request.seed};
    const Tuning tuning = run_tuning(scenario, tune, request.jobs, as_printed);
    advice.given_s = tuning.given.result.metrics.iteration_s;
    advice.tuned = calmest(tuning);
    advice.trials = tuning.trials;
  }
  const Scenario& tuned = advice.tuned.scenario;
  advice.settings = settings_of(*tuned.strategy, tuned.options.strategy, tuned.profile);
  return advice;
}

}  // namespace

std::vector<Advice> recommend(const std::vector<Scenario>& scenarios, const RecommendRequest& request) {
  std::vector<Advice> ranking;
  for (const Scenario& scenario : scenarios) {
    ranking.push_back(advise(scenario, request));
    Result& result = ranking.back().tuned.result;
    result.episodes.clear();
    result.unrolled = {};
  }
  std::stable_sort(ranking.begin(), ranking.end(), [](const Advice& a, const Advice& b) {
    const auto key = [](const Advice& one) {
      return std::tuple(!fits(one.tuned.scenario, one.tuned.result), metrics(one).iteration_s,
                        metrics(one).collectives);
    };
    return key(a) < key(b);
  });
  return ranking;
}

Uncompressed fastest_uncompressed(const Scenario& scenario) {
  Uncompressed least{"", std::numeric_limits<double>::infinity()};
  for (const char* candidate : {"ddp", "optimal-merge", "bytescheduler", "dear"}) {
    Scenario plain = scenario;
    plain.codec.reset();
    plain.collective.clear();
    plain.strategy = &find_strategy(candidate, {});
    plain.options.strategy = {};
    const double time = simulate(plain).metrics.iteration_s;
    if (time < least.iteration_s) least = {candidate, time};
  }
  return least;
}

}  // namespace allreplay
