// One simulated scenario as a row: the columns that JSON, CSV and tables share.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/training/simulate.hpp"

namespace allreplay {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

/// What stands in a column; monostate where there is nothing to say (null, or an empty field).
using Cell = std::variant<std::monostate, std::string, std::int64_t, double, NamedValues>;

struct Column {
  std::string name;
  Cell cell;
};
using Row = std::vector<Column>;

/// The columns that say which scenario a row is of: profile to origin, and options. Throws InputError for a
/// collective or fidelity that the scenario cannot have.
Row identity(const Scenario& scenario);

/// All columns, in the order of docs/formats.md. `wall_s` is how long the simulation took.
Row make_row(Row identity, const Metrics& metrics, double wall_s);

std::string to_json(const Row& row);                ///< one object, indented
std::string to_json(const std::vector<Row>& rows);  ///< an array of objects
std::string csv_header(const Row& row);             ///< one line, without its end
std::string to_csv(const Row& row);                 ///< one line, without its end
std::string plain_text(const Cell& cell);           ///< as to_csv writes it, before quoting

}  // namespace allreplay
