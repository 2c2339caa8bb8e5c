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

Tuning run_tuning(const Scenario& scenario, const TuneRequest& request, int jobs) {
  Tuning tuning;
  tuning.ranges = request.ranges;
  tuning.given = run(scenario);
  std::vector<std::string> given;
  for (const Range& range : request.ranges) given.push_back(given_value(scenario, range));
  const oneapi::tbb::global_control threads(oneapi::tbb::global_control::max_allowed_parallelism,
                                            static_cast<std::size_t>(jobs));
  oneapi::tbb::task_arena arena(jobs);
  const auto measure = [&](const std::vector<std::vector<std::string>>& settings) {
    std::vector<Measured> costs(settings.size());
    arena.execute([&] {
      oneapi::tbb::parallel_for(std::size_t{0}, settings.size(), [&](std::size_t i) {
        const Result result = simulate(with_options(scenario, request.ranges, settings[i]));
        costs[i] = {result.metrics.iteration_s, result.memory.peak, fits(scenario, result)};
      });
    });
    return costs;
  };
  tuning.trials = tune(request, given, measure);
  tuning.best = fastest(tuning.trials);
  tuning.tuned = run(with_options(scenario, request.ranges, tuning.trials[tuning.best].values));
  return tuning;
}

}  // namespace allreplay
