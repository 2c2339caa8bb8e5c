// Simulates one scenario, and describes the outcome in JSON and text.
#pragma once

#include <functional>

#include "sim/base/core/json_value.hpp"
#include "sim/replay/training/simulate.hpp"
#include "sim/studies/results/row.hpp"

namespace allreplay {

struct Outcome {
  Scenario scenario;
  Result result;
  double wall_s = 0;  ///< duration of the simulation, in seconds
};

/// Simulates a scenario; with several seeds, numbers are means over them. With jitter, calls `after_iteration` after
/// each replayed iteration. Throws InputError.
Outcome run(Scenario scenario, std::function<void()> after_iteration = {});

/// The same for one of several scenarios. If a search finds nothing that fits into the memory, returns the best result
/// without a limit instead of throwing; like the result of any strategy, it is then marked as not fitting.
Outcome run_alongside(const Scenario& scenario, std::function<void()> after_iteration = {});

/// The strategy's name; for `best`, with what it searched: "best without shards", "best --zero 3".
std::string strategy_text(const Scenario& scenario);

Row row_of(const Outcome& outcome);

/// Describes what a search over units (`best --zero 3`) found: "161 layers in 107 units: 213 gathers, 107 reductions,
/// in separate lanes". "" for other strategies, whose options already say it.
std::string chosen_schedule(const Outcome& outcome);

/// The outcome's row, followed by chosen_schedule() as `schedule` unless empty: the JSON of `run` and `compare`.
Row row_with_schedule(const Outcome& outcome);

/// The ranks of a pipeline as a JSON array: their chunks, times and memory.
JsonValue stages_json(const ParallelResult& parallel);

}  // namespace allreplay
