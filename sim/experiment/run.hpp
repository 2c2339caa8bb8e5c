// One scenario, simulated and timed.
#pragma once

#include <functional>

#include "sim/core/json_value.hpp"
#include "sim/experiment/row.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

struct Outcome {
  Scenario scenario;
  Result result;
  double wall_s = 0;
};

/// `after_iteration` is called, if there is jitter, after each of the iterations that are replayed.
Outcome run(Scenario scenario, std::function<void()> after_iteration = {});

/// The same of one among several: where nothing fits that a search finds, it is the best without a limit, which is
/// marked as what does not fit of other strategies is.
Outcome run_among_others(const Scenario& scenario, std::function<void()> after_iteration = {});

/// The strategy's name, and of `best` among what it was searched: "best without shards", "best --zero 3".
std::string strategy_text(const Scenario& scenario);

Row row_of(const Outcome& outcome);

/// What a search over units (`best --zero 3`) found: "161 layers in 107 units: 213 gathers, 107 reductions, in lanes of
/// their own". "" where strategy and options say it.
std::string chosen_schedule(const Outcome& outcome);

/// The row of an outcome, and behind it `schedule` where that says anything: what `run` and `compare` write as JSON.
Row row_with_schedule(const Outcome& outcome);

/// An array of the ranks of a pipeline: their chunks, times and memory.
JsonValue stages_json(const ParallelResult& parallel);

}  // namespace allreplay
