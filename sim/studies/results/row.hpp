// One simulated scenario as a row of results: the columns that JSON, CSV and tables share, and how they are written.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/core/json_value.hpp"
#include "sim/replay/training/simulate.hpp"
#include "sim/studies/results/column.hpp"

namespace allreplay {

/// A cell of a column in the registry.
struct NamedCell {
  NamedCell(const Column& its_column, Cell its_cell) : column(&its_column), cell(std::move(its_cell)) {}
  NamedCell(std::string_view key, Cell its_cell) : NamedCell(column_of(key), std::move(its_cell)) {}

  const Column* column;
  Cell cell;
};
using Row = std::vector<NamedCell>;

/// A simulated scenario.
struct Outcome {
  Scenario scenario;
  Result result;
  double wall_s = 0;  ///< duration of the simulation, in seconds
};

struct CollectiveChoice;

/// The data from which the columns read their cells.
struct Record {
  const Scenario& scenario;
  const CollectiveChoice& choice;
  const Result& result;
  double wall_s = 0;
};

/// The throughput of one worker; none if the batch size, the tokens, the operations or the device's peak are unknown.
struct SpeedPerGpu {
  std::optional<double> samples_per_s, tokens_per_s;
  std::optional<double> mfu;  ///< model FLOPs utilisation; excludes recomputed operations
};
SpeedPerGpu speed_per_gpu(const Scenario& scenario, const Metrics& metrics);

/// The options that the scenario uses, defaults included. Like identity() and row_of(), throws InputError for a
/// collective or fidelity that is impossible for the scenario.
NamedValues options_in_effect(const Scenario& scenario);
NamedValues options_in_effect(const Scenario& scenario, const CollectiveChoice& choice);  ///< with this collective

/// Parses "key=value;key=value", as CSV writes options. A part without "=" is a name with an empty value.
NamedValues named_values(std::string_view text);

/// The parts of a worker's memory in bytes, by name.
NamedNumbers parts_of(const MemoryParts& parts);

/// The row with only the columns that identify the scenario.
Row identity(const Scenario& scenario);

/// The row with all columns, and with statistics if there are several seeds.
Row row_of(const Outcome& outcome);

/// The columns that append_statistics() adds.
std::span<const std::string_view> statistics_keys();

/// Appends `seeds` and the statistics of a quantity over them, unless `by_seed` is empty.
void append_statistics(Row& row, const std::vector<double>& by_seed);

/// Appends `jitter` and `spread`, the sigmas.
void append_sigmas(Row& row, const Stragglers& stragglers);

/// True for a column that one of these adds.
bool is_added_to_rows(std::string_view key);

JsonValue json_of(const Column& one);                            ///< what the registry has about it: an object
JsonValue registry_json();                                       ///< the same of all columns of all commands: an array
JsonValue json_of(const Row& row);                               ///< an object
JsonValue json_of(const NamedValues& values);                    ///< an object
std::string csv_header(std::span<const std::string_view> keys);  ///< one line, without line end
std::string to_csv(const Row& row);                              ///< one line, without line end
std::string unquoted_text(const Cell& cell);                     ///< as in CSV, but not quoted

}  // namespace allreplay
