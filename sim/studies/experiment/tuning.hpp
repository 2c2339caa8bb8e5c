// Tunes a scenario's options, running trials in parallel.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/base/farm/farm.hpp"
#include "sim/studies/experiment/run.hpp"
#include "sim/studies/search/tune.hpp"

namespace allreplay {

struct TuningTrace {
  std::vector<Range> ranges;
  std::vector<std::string> given_values;  ///< of the ranges' options: as given, or the strategy's defaults
  std::vector<Trial> trials;
  std::size_t best = 0;   ///< index of the fastest trial
  Outcome given;          ///< with the given options
  bool as_given = false;  ///< no trial is better than `given`
};

struct Tuning : TuningTrace {
  Outcome tuned;  ///< the best trial, or `given`
};

/// Returns the scenario with these values of the ranges' options.
Scenario with_options(const Scenario& scenario, const std::vector<Range>& ranges,
                      const std::vector<std::string>& values);

/// Restricts the scenario's options to what settings of the strategy's framework can express (Offer::meant); later
/// with_options() does so, too. Throws InputError for a given option without a setting.
Scenario as_printed(Scenario scenario);

/// Returns the options of `to` that differ from those of `from`, as users write them; "" for a default.
NamedValues changed_options(const Scenario& from, const Scenario& to);

/// Runs `jobs` trials in parallel, or as many as the farm has workers (answer_trials()), which does not change results.
TuningTrace try_settings(const Scenario& scenario, const TuneRequest& request, int jobs, Farm* farm = nullptr,
                         const std::function<void()>& after_trial = {});

/// try_settings(), and the outcome of the best trial.
Tuning run_tuning(const Scenario& scenario, const TuneRequest& request, int jobs, Farm* farm = nullptr,
                  const std::function<void()>& after_trial = {});

/// The work of a farm's other processes for try_settings().
Farm::Answer answer_trials(Scenario scenario, std::vector<Range> ranges);

}  // namespace allreplay
