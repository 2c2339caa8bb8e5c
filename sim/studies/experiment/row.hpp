// One simulated scenario as a row of results: the columns that JSON, CSV and tables share, and how they are written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/core/json_value.hpp"
#include "sim/replay/training/simulate.hpp"

namespace allreplay {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

using NamedNumbers = std::vector<std::pair<std::string, double>>;

/// The value of a column; monostate is null in JSON and an empty field in CSV.
using Cell = std::variant<std::monostate, std::string, std::int64_t, double, NamedValues, NamedNumbers, bool>;

struct NamedCell {
  std::string_view name;  ///< Column::name
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

enum class ColumnKind : std::uint8_t { Text, Number, Options, Parts };

/// The description of a column. A new column needs only a new entry in columns().
struct Column {
  std::string_view name;
  std::string_view about;  ///< one line: its unit, and what it means
  Cell (*get)(const Record& record);
  ColumnKind kind = ColumnKind::Number;
  bool identifies = false;    ///< known before the simulation; `sweep --resume` compares it
  bool may_be_empty = false;  ///< null in JSON
  bool later = false;         ///< missing in files of older versions, which are still read
  bool of_parallel = false;   ///< left out of JSON with data parallelism only
  bool if_given = false;      ///< left out of JSON if it is empty
};

/// All columns, in the order in which they are written.
std::span<const Column> columns();

/// The throughput of one worker; none if the batch size, the tokens, the operations or the device's peak are unknown.
struct SpeedPerGpu {
  std::optional<double> samples_per_s, tokens_per_s;
  std::optional<double> mfu;  ///< model FLOPs utilisation; excludes recomputed operations
};
SpeedPerGpu speed_per_gpu(const Scenario& scenario, const Metrics& metrics);

/// The options that the scenario uses, defaults included. Like identity() and make_row(), throws InputError for a
/// collective or fidelity that is impossible for the scenario.
NamedValues options_in_effect(const Scenario& scenario);

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

JsonValue json_of(const Row& row);                                ///< an object
JsonValue json_of(const NamedValues& values);                     ///< an object
std::string csv_header();                                         ///< all columns: one line, without line end
std::string csv_header(std::span<const std::string_view> names);  ///< these columns
std::string to_csv(const Row& row);                               ///< one line, without line end
std::string unquoted_text(const Cell& cell);                      ///< as in CSV, but not quoted

}  // namespace allreplay
