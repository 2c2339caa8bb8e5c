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
#include "sim/output/picture/figure.hpp"

namespace allreplay {

enum class PlotKind : std::uint8_t { Speedup, Efficiency, Lines, Bars, Columns, Dots, Boxes, Histogram };

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

/// The spacing of each axis; none: logarithmic if the values ask for it.
struct PlotLog {
  std::optional<Spacing> x, y;
  bool asked_x = false, asked_y = false;  ///< for this axis: it has to obey
};

/// The ends of an axis; those not given follow from the values.
struct PlotLimits {
  std::optional<double> from, to;

  bool given() const { return from || to; }
  bool contain(double value) const { return (!from || value >= *from) && (!to || value <= *to); }
};

/// The look of the picture on its page.
struct PlotPage {
  std::optional<double> width;                 ///< in mm
  std::optional<std::size_t> across;           ///< panels next to each other
  std::string font = std::string(usual_font);  ///< family
  double font_size = 8.25;                     ///< in points, of most letters
  LegendPlace legend = LegendPlace::Top;
};

struct PlotOptions {
  std::vector<PlotKind> kinds{PlotKind::Speedup};
  std::string x;  ///< "": workers
  std::string y = "iteration_s";
  std::string over_column;          ///< divides `y` by another column of the same row,
  RowSelection over_rows;           ///< or by the `y` of the matching row that these conditions select
  std::optional<std::string> unit;  ///< if not given, that of the column `y`
  double scale = 1;                 ///< the size of `unit` in units of the column
  std::vector<std::string> series{"strategy"}, panels{"profile"};
  bool usual_series = true;        ///< `series` was not given: what else tells rows apart joins it,
  std::vector<std::string> apart;  ///< as these columns
  RowSelection where, mark;
  std::vector<std::string> error;  ///< a column: half the length of error bars; two: their ends
  std::vector<std::string> band;   ///< the same, for filled areas behind lines
  std::vector<std::string> order;  ///< values that come first among panels, series and places along x
  std::map<std::string, std::string> labels;
  PlotLog log;
  PlotLimits x_limits, y_limits;
  bool ideal = true;
  PlotPage page;

  bool divides() const { return !over_column.empty() || !over_rows.empty(); }

  /// Returns what to write for a cell's text: its label from the options, or the strategy's.
  std::string label(const std::string& value) const;
  /// Returns the name of a column on an axis.
  std::string axis_name(const std::string& column) const;
  /// True if `y` is shown in percent: a share or an efficiency, unless a unit or a scale was given.
  bool in_percent() const;
  /// The size of the unit that is shown, in units of the column.
  double unit_size() const { return divides() ? 1 : in_percent() ? 0.01 : scale; }
  /// Returns the name of `y` with its unit in parentheses, if it has one: not for counts and quotients.
  std::string name_of_y() const;
};

struct PlotKey {
  std::string_view name;
  std::string_view value;  ///< placeholder in help: "COLUMN"
  std::string_view right;  ///< describes valid values, for messages
  void (*read)(PlotOptions& options, const Json& value);
};

/// Returns all keys of "plot".
std::span<const PlotKey> plot_keys();

/// Sets the options that the object has keys for. Throws InputError.
void read_plot_options(PlotOptions& options, const Json& object);

/// Sets one option; the value is JSON or a bare text. In a text, commas separate the items of a list, and COLUMN=VALUE
/// adds to a selection. Throws InputError.
void read_plot_option(PlotOptions& options, const PlotKey& key, const std::string& value, const SourceLocation& place);

/// The same from KEY=VALUE.
void read_plot_option(PlotOptions& options, const std::string& key_and_value, const SourceLocation& place);

}  // namespace allreplay
