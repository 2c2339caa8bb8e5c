// A simulated scenario in words, in JSON, and as a contender in a ranking.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/core/json_value.hpp"
#include "sim/studies/results/ranking.hpp"
#include "sim/studies/results/row.hpp"

namespace allreplay {

/// The strategy's name; for `best`, with what it searched: "best without shards", "best --zero 3".
std::string strategy_text(const Scenario& scenario);

/// Describes what a search over units (`best --zero 3`) found: "161 layers in 107 units: 213 gathers, 107 reductions,
/// in separate lanes". "" for other strategies, whose options already say it.
std::string chosen_schedule(const Outcome& outcome);

/// The outcome's row, followed by chosen_schedule() as `schedule` unless empty: the JSON of `run` and `compare`.
Row row_with_schedule(const Outcome& outcome);

/// The ranks of a pipeline as a JSON array: their chunks, times and memory.
JsonValue stages_json(const ParallelResult& parallel);

/// The iteration's seconds, times the workers per model replica, divided by its micro-batches. Ranks settings that
/// differ in the number of samples of an iteration.
double seconds_of_equal_work(const Outcome& outcome);

/// The same with less bandwidth between nodes (Result::doubted_s).
std::optional<double> doubted_seconds_of_equal_work(const Outcome& outcome);

/// The micro-batches of an iteration, summed over replicas. Outcomes with different numbers are compared by samples per
/// second, not by iteration times.
std::int64_t batches_of_iteration(const Outcome& outcome);

Contender contender_of(const Outcome& outcome, const WinningRule& rule);

/// The options to show: those that were given or differ from the strategy's defaults; without the device's memory.
NamedValues options_to_show(const Scenario& scenario);

/// The number of a row's options that differ from the strategy's defaults.
std::size_t options_changed(const Strategy& strategy, const NamedValues& options, const Profile& profile);

}  // namespace allreplay
