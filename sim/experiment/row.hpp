// One simulated scenario as a row: the columns that JSON, CSV and tables share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/core/json_value.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

using NamedNumbers = std::vector<std::pair<std::string, double>>;

/// What stands in a column; monostate where there is nothing to say (null, or an empty field).
using Cell = std::variant<std::monostate, std::string, std::int64_t, double, NamedValues, NamedNumbers, bool>;

struct NamedCell {
  std::string_view name;  ///< of a Column
  Cell cell;
};
using Row = std::vector<NamedCell>;

struct CollectiveChoice;

/// What a column's cell is read from.
struct Record {
  const Scenario& scenario;
  const CollectiveChoice& choice;
  const Metrics& metrics;
  const MemoryUse& memory;
  double wall_s = 0;                         ///< how long the simulation took
  const ParallelResult* parallel = nullptr;  ///< null where there is data parallelism alone
};

/// What stands in a column, in JSON and in CSV.
enum class ColumnKind : std::uint8_t { Text, Number, Options, Parts };

/// All that there is to know of a column. Adding one is a row.
struct Column {
  std::string_view name;
  std::string_view about;  ///< one line: its unit, and what it means
  Cell (*get)(const Record& record);
  ColumnKind kind = ColumnKind::Number;
  bool identifies = false;    ///< it is known before anything is simulated: `sweep --resume` compares it
  bool may_be_empty = false;  ///< null in JSON
  bool later = false;         ///< versions that came before it wrote files that are still read
  bool of_parallel = false;   ///< in JSON where there is more than data parallelism
  bool if_given = false;      ///< in JSON where it is not empty
};

/// In the order in which they are written.
std::span<const Column> columns();

/// What one worker gets done; none where batch, tokens, operations or the peak are unknown.
struct SpeedPerGpu {
  std::optional<double> samples_per_s, tokens_per_s;
  std::optional<double> mfu;  ///< of the model's operations, without what is computed again
};
SpeedPerGpu speed_per_gpu(const Scenario& scenario, const Metrics& metrics);

/// The options that matter to this scenario, with their values, defaults included. Throws InputError for a collective
/// or fidelity that the scenario cannot have; so do the next two.
NamedValues options_that_matter(const Scenario& scenario);

/// "key=value;key=value", as CSV has them. A part without "=" is a name whose value is empty.
NamedValues named_values(std::string_view text);

/// Whether a worker that holds so much has the memory for it, by the options of its row; none where these say nothing.
std::optional<bool> fits_by(const NamedValues& options, double memory_bytes, const SourceLocation& place);

/// A worker's memory, by its parts' names.
NamedNumbers parts_of(const MemoryParts& parts);

/// The columns that say which scenario a row is of.
Row identity(const Scenario& scenario);

/// All columns.
Row make_row(const Scenario& scenario, const Metrics& metrics, const MemoryUse& memory, double wall_s,
             const ParallelResult* parallel = nullptr);

JsonValue json_of(const Row& row);                                ///< an object
JsonValue json_of(const NamedValues& values);                     ///< an object
std::string csv_header();                                         ///< of all columns: one line, without its end
std::string csv_header(std::span<const std::string_view> names);  ///< of these
std::string to_csv(const Row& row);                               ///< one line, without its end
std::string plain_text(const Cell& cell);                         ///< as to_csv writes it, before quoting

}  // namespace allreplay
