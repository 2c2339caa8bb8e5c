// Selects the rows of a CSV that a figure draws and groups them into panels and series.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/output/picture/row_chart.hpp"
#include "sim/output/view/plot_options.hpp"
#include "sim/studies/results/sweep_result.hpp"

namespace allreplay {

/// Adds a column for each option of the rows that has none yet. Throws InputError.
ResultTable plot_table(ResultTable table);

/// Returns the number that a cell contains, if it is one.
std::optional<double> as_number(const std::string& text);

/// True if the row meets all conditions.
bool selects(const ResultTable& table, const RowSelection& selection, const ResultLine& row);

/// The rows that "where" selects, each with its quotient of `y` in the unit of the options.
struct PlotData {
  const ResultTable& table;
  const PlotOptions& options;
  std::vector<const ResultLine*> rows;
  std::vector<double> y;                         ///< by row; empty if the kind draws other columns
  std::vector<RelativeEfficiency> efficiencies;  ///< by row; empty if no kind draws them
  std::vector<std::optional<RowError>> errors;   ///< by row, in the unit of `y`; empty if there are none
  std::vector<std::optional<RowError>> bands;    ///< the same for bands
};
/// Throws InputError.
PlotData data_of(const ResultTable& table, const PlotOptions& options);

/// One point of a figure.
struct PlotPoint {
  std::string x;
  std::size_t row = 0;  ///< index into PlotData::rows
};
struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;
};
struct PlotPanel {
  std::string title;
  std::vector<PlotSeries> series;
};

/// Limits of a figure, beyond what can be read.
constexpr std::size_t most_panels = 100, most_series = 200, most_points = 2000;

/// Throws InputError at `row` if `count` exceeds `most`.
void require_at_most(std::size_t most, std::size_t count, const char* what, const PlotData& data,
                     const ResultLine& row);

/// Adds to PlotOptions::apart, which `data` reads, the columns that tell rows of one point apart.
void tell_apart(const PlotData& data, PlotOptions& options);

/// Groups the rows into panels and series, in the order of the file. Throws InputError if two rows give the same point.
std::vector<PlotPanel> panels_of(const PlotData& data);

/// Returns the labels of these columns of the row: "WFBP, ring".
std::string title_of(const PlotData& data, const ResultLine& row, const std::vector<std::string>& columns);

}  // namespace allreplay
