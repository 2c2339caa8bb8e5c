// The options under "plot" in a sweep's configuration: they say which figure to make of its rows.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/core/json.hpp"
#include "sim/base/core/named.hpp"

namespace allreplay {

enum class PlotKind : std::uint8_t { Speedup, Efficiency, Lines, Bars, Columns, Dots, Histogram };

struct PlotKindRow {
  PlotKind value;
  std::string_view name;
  std::string_view about;
  std::vector<std::string_view> numbers;  ///< the columns that it draws; if empty, those of `y` and `over`
  bool curves = false;                    ///< can be combined with other curves in one figure
};

const std::vector<PlotKindRow>& plot_kinds();

/// Conditions on columns: the cell has to be one of the texts.
using RowSelection = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct PlotOptions {
  std::vector<PlotKind> kinds{PlotKind::Speedup};
  std::string x;  ///< "": workers
  std::string y = "iteration_s";
  std::string over_column;          ///< divides `y` by another column of the same row,
  RowSelection over_rows;           ///< or by the `y` of the matching row that these conditions select
  std::optional<std::string> unit;  ///< if not given, that of the column `y`
  double scale = 1;                 ///< the size of `unit` in units of the column
  std::vector<std::string> series{"strategy"}, panels{"profile"};
  RowSelection where, mark;
  std::map<std::string, std::string> labels;
  bool log = true, ideal = true;

  bool divides() const { return !over_column.empty() || !over_rows.empty(); }

  /// Returns what to write for a cell's text: its label from the options, or the strategy's.
  std::string label(const std::string& value) const;
  /// Returns the name of a column on an axis.
  std::string axis_name(const std::string& column) const;
  /// Returns the name of `y` with its unit in parentheses, if it has one: not for counts, shares and quotients.
  std::string name_of_y() const;
};

struct PlotKey {
  std::string_view name;
  std::string_view right;  ///< describes valid values, for messages
  void (*read)(PlotOptions& options, const Json& value);
};

/// Returns all keys of "plot".
std::span<const PlotKey> plot_keys();

/// Sets the options that the object has keys for. Throws InputError.
void read_plot_options(PlotOptions& options, const Json& object);

/// Sets one option from KEY=VALUE; VALUE is JSON or a bare text. Throws InputError.
void read_plot_option(PlotOptions& options, const std::string& key_and_value, const SourceLocation& place);

}  // namespace allreplay
