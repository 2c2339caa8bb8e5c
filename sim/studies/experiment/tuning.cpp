#include "sim/studies/experiment/tuning.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "sim/base/farm/batch.hpp"
#include "sim/base/farm/bytes.hpp"
#include "sim/plans/schedule/alike.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/studies/experiment/run.hpp"
#include "sim/studies/search/plan_of.hpp"

namespace allreplay {

Scenario with_options(const Scenario& scenario, const std::vector<Range>& ranges,
                      const std::vector<std::string>& values) {
  Scenario changed = scenario;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    changed.options.set(ranges[i].option, values[i], {"command line", "--over " + ranges[i].option});
  return changed.in_words ? as_printed(std::move(changed)) : changed;
}

Scenario as_printed(Scenario scenario) {
  scenario.in_words = true;
  const Offer& offer = scenario.strategy->offer;
  if (!offer.meant) return scenario;
  const Options given = scenario.options;
  scenario.options.strategy = offer.meant(given.strategy, scenario.profile);
  for (const auto& [name, place] : given.places)
    if (scenario.options.get(name).empty() && !given.get(name).empty())
      throw InputError(place, fmt::format("{} has no setting for {}", offer.framework, name),
                       fmt::format("leave {} out; `run` and `tune` take it", name));
  return scenario;
}

NamedValues changed_options(const Scenario& from, const Scenario& to) {
  NamedValues changed;
  for (const OptionRow& row : option_rows())
    if (std::string value = to.options.get(row.name); value != from.options.get(row.name)) {
      std::erase(value, ' ');  // before units, so that it is a single word of a command
      changed.emplace_back(row.name, std::move(value));
    }
  return changed;
}

namespace {

// Simulates settings, but only one of those whose plans have identical replays.
class TrialCache {
 public:
  TrialCache(const Scenario& scenario, std::vector<Range> ranges) : scenario_(scenario), ranges_(std::move(ranges)) {}

  // Thread-safe.
  TrialResult of(const std::vector<std::string>& values) {
    const Job job = job_of(with_options(scenario_, ranges_, values));
    const Plan plan = with_open_windows(plan_of(job));
    const std::uint64_t digest = digest_of(plan);
    if (const auto cost = find(digest, plan, job)) return *cost;
    return store(digest, job.scenario.options, simulate(prepared_for(plan, job), plan));
  }

  // Adds the result with the given options.
  void store_given(const Result& result) {
    store(digest_of(with_open_windows(result.plan)), scenario_.options, result);
  }

 private:
  struct Known {
    std::uint64_t digest;
    Options options;  // need less memory than the plan, which is made from them again
    TrialResult cost;
  };

  Plan with_open_windows(Plan plan) const {
    if (!scenario_.codec) open_idle_windows(plan);
    return plan;
  }

  // True if options that the plan does not show are equal. Options that only the planner reads show in the plan.
  bool differ_only_in_plan(const Options& a, const Options& b) const {
    return a.strategy.sharding == b.strategy.sharding &&
           std::all_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
             return reads(*scenario_.strategy, range.option) || a.get(range.option) == b.get(range.option);
           });
  }

  std::optional<TrialResult> find(std::uint64_t digest, const Plan& plan, Job job) {
    std::vector<Known> candidates;
    {
      const std::lock_guard lock(mutex_);
      for (const Known& one : known_)
        if (one.digest == digest && differ_only_in_plan(one.options, job.scenario.options)) candidates.push_back(one);
    }
    for (const Known& one : candidates) {
      job.scenario.options = one.options;
      if (replayed_alike(with_open_windows(plan_of(job)), plan)) return one.cost;
    }
    return std::nullopt;
  }

  TrialResult store(std::uint64_t digest, const Options& options, const Result& result) {
    const TrialResult cost{result.metrics.iteration_s, result.memory.peak, fits(scenario_, result),
                           result.metrics.collectives};
    const std::lock_guard lock(mutex_);
    known_.push_back({digest, options, cost});
    return cost;
  }

  const Scenario scenario_;
  const std::vector<Range> ranges_;
  std::mutex mutex_;
  std::vector<Known> known_;
};

}  // namespace

Farm::Answer answer_trials(Scenario scenario, std::vector<Range> ranges) {
  return [cache = std::make_shared<TrialCache>(scenario, std::move(ranges))](const std::string& work) {
    std::vector<std::string> values;
    Unpacker(work).all(values);
    return Packer().add(cache->of(values)).bytes();
  };
}

TuningTrace try_settings(const Scenario& scenario, const TuneRequest& request, int jobs, Farm* farm,
                         const std::function<void()>& after_trial) {
  TuningTrace tuning;
  tuning.ranges = request.ranges;
  tuning.given = run(scenario);
  Scenario with_given = scenario;
  with_given.options.strategy = with_defaults(*scenario.strategy, scenario.options.strategy, scenario.profile);
  for (const Range& range : request.ranges) tuning.given_values.push_back(given_value(with_given, range));
  TrialCache cache(scenario, request.ranges);
  cache.store_given(tuning.given.result);
  const Batch batch{jobs, farm, after_trial};
  const auto measure = [&](const std::vector<std::vector<std::string>>& settings) {
    std::vector<TrialResult> found(settings.size());
    batch.run(
        {.count = settings.size(),
         .here = [&](std::size_t i) { found[i] = cache.of(settings[i]); },
         .asked = [&](std::size_t i) { return FarmJob{Packer().all(settings[i]).bytes()}; },
         .take = [&](std::size_t i, const std::string& answer) { found[i] = Unpacker(answer).take<TrialResult>(); }});
    return found;
  };
  tuning.trials = tune(request, tuning.given_values, measure);
  tuning.best = fastest(tuning.trials);
  const auto changes = [&](std::size_t trial) {
    std::size_t changed = 0;
    for (std::size_t i = 0; i < request.ranges.size(); ++i)
      changed += tuning.trials[trial].values[i] != tuning.given_values[i];
    return changed;
  };
  for (std::size_t i = 0; i < tuning.trials.size(); ++i)  // prefers fewer changes among equally good trials
    if (!better(tuning.trials[tuning.best], tuning.trials[i]) && changes(i) < changes(tuning.best)) tuning.best = i;
  const Trial& best = tuning.trials[tuning.best];
  tuning.as_given = tuning.given.result.metrics.iteration_s < best.iteration_s &&
                    (fits(tuning.given.scenario, tuning.given.result) || !best.fits);
  return tuning;
}

Tuning run_tuning(const Scenario& scenario, const TuneRequest& request, int jobs, Farm* farm,
                  const std::function<void()>& after_trial) {
  Tuning tuning{try_settings(scenario, request, jobs, farm, after_trial), {}};
  tuning.tuned =
      tuning.as_given ? tuning.given : run(with_options(scenario, tuning.ranges, tuning.trials[tuning.best].values));
  return tuning;
}

}  // namespace allreplay
