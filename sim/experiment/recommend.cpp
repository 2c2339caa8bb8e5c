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
// overlap cost nothing here, but something in any real library. The options as given win a tie; where they are among
// these, nothing may need more memory.
Outcome calmest(const Tuning& tuning) {
  constexpr double slack = 1.005;
  const auto &given = tuning.given, &tuned = tuning.tuned;
  const double fast = slack * tuned.result.metrics.iteration_s, as_given = given.result.metrics.iteration_s;
  const bool given_fits = fits(given.scenario, given.result);
  const bool stays = (given_fits || !fits(tuned.scenario, tuned.result)) && as_given <= fast;
  const double limit = given_fits ? std::min(fast, as_given) : fast;
  Outcome calm = stays ? given : tuned;
  for (const Trial& trial : tuning.trials) {
    if (trial.iteration_s > limit || !trial.fits || (stays && trial.memory_bytes > given.result.memory.peak)) continue;
    const Outcome outcome = run(with_options(given.scenario, tuning.ranges, trial.values));
    if (outcome.result.metrics.collectives < calm.result.metrics.collectives) calm = outcome;
  }
  return calm;
}

Advice advise(const Scenario& scenario, const RecommendRequest& request) {
  const std::vector<Range> ranges = default_ranges(scenario);
  Advice advice;
  if (ranges.empty() || scenario.workers == 1) {
    advice.tuned = run(scenario);
    advice.given_s = metrics(advice).iteration_s;
  } else {
    const Tuning tuning = run_tuning(scenario, {ranges, request.budget, TuneMethod::Bayes, request.seed}, request.jobs);
    advice.given_s = tuning.given.result.metrics.iteration_s;
    advice.tuned = calmest(tuning);
    advice.trials = tuning.trials;
  }
  const Scenario& tuned = advice.tuned.scenario;
  advice.settings = settings_of(*tuned.strategy, tuned.options.strategy, tuned.profile);
  return advice;
}

}  // namespace

std::vector<Advice> recommend(const std::vector<Scenario>& scenarios, const RecommendRequest& request,
                              std::vector<RuledOut>& ruled_out) {
  std::vector<Advice> ranking;
  for (const Scenario& scenario : scenarios) {
    try {
      ranking.push_back(advise(scenario, request));
    } catch (const InputError& error) {
      ruled_out.push_back({std::string(scenario.strategy->name), error});
      continue;
    }
    Result& result = ranking.back().tuned.result;
    result.episodes.clear();
    result.unrolled = {};
  }
  if (ranking.empty() && !ruled_out.empty()) throw ruled_out.front().why;
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
