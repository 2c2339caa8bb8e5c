#include "sim/experiment/tuning.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include "sim/experiment/run.hpp"
#include "sim/search/plan_of.hpp"
#include "sim/training/memory.hpp"

namespace allreplay {

Scenario with_options(const Scenario& scenario, const std::vector<Range>& ranges,
                      const std::vector<std::string>& values) {
  Scenario changed = scenario;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    changed.options.set(ranges[i].option, values[i], {"command line", "--over " + ranges[i].option});
  return changed;
}

Scenario as_printed(Scenario scenario) {
  const auto meant = scenario.strategy->offer.meant;
  if (meant) scenario.options.strategy = meant(std::move(scenario.options.strategy), scenario.profile);
  return scenario;
}

Tuning run_tuning(const Scenario& scenario, const TuneRequest& request, int jobs, Scenario (*adjusted)(Scenario)) {
  const auto with = [&](const std::vector<std::string>& values) {
    Scenario changed = with_options(scenario, request.ranges, values);
    return adjusted ? adjusted(std::move(changed)) : changed;
  };
  Tuning tuning;
  tuning.ranges = request.ranges;
  tuning.given = run(adjusted ? adjusted(scenario) : scenario);
  Options defaults = scenario.options;
  defaults.strategy = with_defaults(*scenario.strategy, scenario.options.strategy, scenario.profile);
  std::vector<std::string> given;
  for (const Range& range : request.ranges) given.push_back(defaults.get(range.option));
  const oneapi::tbb::global_control threads(oneapi::tbb::global_control::max_allowed_parallelism,
                                            static_cast<std::size_t>(jobs));
  oneapi::tbb::task_arena arena(jobs);
  const auto measure = [&](const std::vector<std::vector<std::string>>& settings) {
    std::vector<Measured> costs(settings.size());
    arena.execute([&] {
      oneapi::tbb::parallel_for(std::size_t{0}, settings.size(), [&](std::size_t i) {
        const Result result = simulate(with(settings[i]));
        costs[i] = {result.metrics.iteration_s, result.memory.peak, fits(scenario, result)};
      });
    });
    return costs;
  };
  tuning.trials = tune(request, given, measure);
  tuning.best = fastest(tuning.trials);
  const Trial& best = tuning.trials[tuning.best];
  tuning.as_given = tuning.given.result.metrics.iteration_s < best.iteration_s &&
                    (fits(tuning.given.scenario, tuning.given.result) || !best.fits);
  tuning.tuned = tuning.as_given ? tuning.given : run(with(best.values));
  return tuning;
}

}  // namespace allreplay
