// Tuning a scenario, its trials side by side; what tools read of it.
#pragma once

#include <string>
#include <vector>

#include "sim/experiment/run.hpp"
#include "sim/farm/farm.hpp"
#include "sim/search/tune.hpp"

namespace allreplay {

struct TuningTrace {
  std::vector<Range> ranges;
  std::vector<std::string> given_values;  ///< of the ranges' options, as they were or as the strategy comes
  std::vector<Trial> trials;
  std::size_t best = 0;   ///< index of the fastest trial
  Outcome given;          ///< with the options as they were
  bool as_given = false;  ///< no trial is faster than that
};

struct Tuning : TuningTrace {
  Outcome tuned;  ///< the faster of the two
};

/// The scenario with other values of the ranges' options.
Scenario with_options(const Scenario& scenario, const std::vector<Range>& ranges,
                      const std::vector<std::string>& values);

/// What the words of the strategy's framework mean of the scenario's options (Offer::meant), now and wherever
/// with_options() changes them. Throws InputError for an option that is given and cannot be said in them.
Scenario as_printed(Scenario scenario);

/// Options of the second scenario that are not the first's, as users write them; "" where one is back to its default.
NamedValues changed_options(const Scenario& from, const Scenario& to);

/// `jobs` trials at a time, or as many as the farm has workers (answer_trials()); the result does not depend on it.
TuningTrace try_settings(const Scenario& scenario, const TuneRequest& request, int jobs, Farm* farm = nullptr);

/// The same, and what is to be known of the fastest.
Tuning run_tuning(const Scenario& scenario, const TuneRequest& request, int jobs, Farm* farm = nullptr);

/// What the other processes of a farm do for try_settings().
Farm::Answer answer_trials(Scenario scenario, std::vector<Range> ranges);

}  // namespace allreplay
