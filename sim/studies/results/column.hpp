// The registry of columns: the name, unit and meaning of every quantity in the results of all commands.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace allreplay {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

using NamedNumbers = std::vector<std::pair<std::string, double>>;

/// A value; monostate is null in JSON and an empty field in CSV.
using Cell = std::variant<std::monostate, std::string, std::int64_t, double, NamedValues, NamedNumbers, bool>;

template <class Value>
Cell cell_of(const Value& value) {
  return value;
}
template <class Value>
Cell cell_of(const std::optional<Value>& value) {
  return value ? Cell(*value) : Cell();
}

struct Record;

enum class ColumnRole : std::uint8_t {
  Identity,  ///< known before the simulation; `sweep --resume` compares it
  Measure,   ///< a result by which rows are compared
  Detail
};

struct Column {
  enum Flag : unsigned {
    may_be_empty = 1,  ///< null in JSON
    later = 2,         ///< missing in files of older versions, which are still read
    of_parallel = 4,   ///< left out of JSON with data parallelism only
    if_given = 8,      ///< left out of JSON if it is empty
    in_parts = 16,     ///< a number for each of several parts
    of_cluster = 32    ///< of the cluster that a row names
  };

  std::string_view key;    ///< in CSV and JSON
  std::string_view title;  ///< above a column of a table; "": as on an axis
  std::string_view axis;   ///< in charts; "": the key in words
  std::string_view unit;   ///< "s", "B", …; "1": a count or a ratio; "": text
  ColumnRole role;
  bool lower_is_better;
  std::string_view about;                       ///< one line: what it means
  Cell (*get)(const Record& record) = nullptr;  ///< null: not in the rows of `run`, `compare` and `sweep`
  unsigned flags = 0;

  bool has(Flag flag) const { return (flags & flag) != 0; }
  bool is_number() const { return !unit.empty() && !has(in_parts); }
  std::string text() const;  ///< its meaning and unit
};

/// Returns all columns of all commands.
std::span<const Column> all_columns();

/// Returns the columns of the rows of `run`, `compare` and `sweep`, in the order in which they are written.
std::span<const Column> columns();
std::vector<std::string_view> row_keys();  ///< their keys

/// Returns the column with that key, or nullptr.
const Column* find_column(std::string_view key);

/// Returns the column with that key. REQUIRES: there is one.
const Column& column_of(std::string_view key);

/// Returns the name on an axis and the unit of any column, also of one that is not in the registry but in a user's CSV.
std::string axis_of(std::string_view key);
std::string_view unit_of(std::string_view key);

/// True if texts and axes show it in percent.
bool is_percentage(std::string_view key);

/// Returns the head of a table's column.
std::string title_of(const Column& column);

}  // namespace allreplay
