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

struct CollectiveChoice;

/// The data of one simulation, from which the columns read their cells.
struct Record {
  const Scenario& scenario;
  const CollectiveChoice& choice;
  const Metrics& metrics;
  const MemoryUse& memory;
  double wall_s = 0;                         ///< duration of the simulation, in seconds
  const ParallelResult* parallel = nullptr;  ///< null with data parallelism only
};

/// The throughput of one worker; none if the batch size, the tokens, the operations or the device's peak are unknown.
struct SpeedPerGpu {
  std::optional<double> samples_per_s, tokens_per_s;
  std::optional<double> mfu;  ///< model FLOPs utilisation; excludes recomputed operations
};
SpeedPerGpu speed_per_gpu(const Scenario& scenario, const Metrics& metrics);

/// The options that the scenario uses, defaults included. Like identity() and make_row(), throws InputError for a
/// collective or fidelity that is impossible for the scenario.
NamedValues options_in_effect(const Scenario& scenario);
NamedValues options_in_effect(const Scenario& scenario, const CollectiveChoice& choice);  ///< with this collective

/// Parses "key=value;key=value", as CSV writes options. A part without "=" is a name with an empty value.
NamedValues named_values(std::string_view text);

/// True if `memory_bytes` fit into the limit in a row's options; none without one. Throws InputError at `place`.
std::optional<bool> fits_by(const NamedValues& options, double memory_bytes, const SourceLocation& place);

/// The parts of a worker's memory in bytes, by name.
NamedNumbers parts_of(const MemoryParts& parts);

/// The row with only the columns that identify the scenario.
Row identity(const Scenario& scenario);

/// The row with all columns.
Row make_row(const Scenario& scenario, const Metrics& metrics, const MemoryUse& memory, double wall_s,
             const ParallelResult* parallel = nullptr);

JsonValue registry_json();          ///< what the registry has about all columns of all commands: an array of objects
JsonValue json_of(const Row& row);  ///< an object
JsonValue json_of(const NamedValues& values);                    ///< an object
std::string csv_header(std::span<const std::string_view> keys);  ///< one line, without line end
std::string to_csv(const Row& row);                              ///< one line, without line end
std::string unquoted_text(const Cell& cell);                     ///< as in CSV, but not quoted

}  // namespace allreplay
