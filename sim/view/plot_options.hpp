// What the "plot" of a sweep's configuration says: which figure is made of its rows.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/json.hpp"
#include "sim/core/named.hpp"

namespace allreplay {

enum class PlotKind : std::uint8_t { Speedup, Efficiency, Lines, Bars, Columns, Dots, Histogram, Trials };

struct PlotKindRow {
  PlotKind value;
  std::string_view name;
  std::string_view about;
  std::vector<std::string_view> numbers;  ///< the columns that it draws; what `y` and `over` name if empty
  bool curves = false;                    ///< several such may stand in one figure
};

const std::vector<PlotKindRow>& plot_kinds();

/// Conditions on columns: what each holds is one of these texts.
using RowSelection = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct PlotOptions {
  std::vector<PlotKind> kinds{PlotKind::Speedup};
  std::string x;  ///< "": workers, or what was tuned
  std::string y = "iteration_s";
  std::string over_column;          ///< what `y` is divided by: another column of the row,
  RowSelection over_rows;           ///< or the `y` of the row that these select among its like
  std::optional<std::string> unit;  ///< not given: that of the column `y`
  double scale = 1;                 ///< one unit, in that of the column
  std::vector<std::string> series{"strategy"}, panels{"profile"};
  RowSelection where, mark;
  std::map<std::string, std::string> labels;
  bool log = true, ideal = true;

  bool divides() const { return !over_column.empty() || !over_rows.empty(); }

  /// What to write for a value of a column, or for a column.
  std::string label(const std::string& value) const;
  /// What an axis calls a column.
  std::string axis_name(const std::string& column) const;
  /// The name of `y` with its unit in parentheses; without one if `y` is a count, a share or divided by something.
  std::string name_of_y() const;
};

struct PlotKey {
  std::string_view name;
  std::string_view right;  ///< what a value has to be
  void (*read)(PlotOptions& options, const Json& value);
};

/// All keys of "plot".
std::span<const PlotKey> plot_keys();

/// Changes what the keys of the object say. Throws InputError.
void read_plot_options(PlotOptions& options, const Json& object);

/// The same of KEY=VALUE, whose value is JSON or a bare text.
void read_plot_option(PlotOptions& options, const std::string& key_and_value, const SourceLocation& place);

}  // namespace allreplay
