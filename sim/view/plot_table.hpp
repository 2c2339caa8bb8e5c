// The rows of a CSV as figures read them: texts by column, and numbers where they are drawn.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/report/sweep_result.hpp"
#include "sim/view/plot_options.hpp"

namespace allreplay {

/// Adds a column for each option of the rows that is not one already. Throws InputError.
ResultTable plot_table(ResultTable table);

/// Returns the number that a cell contains, if it is one.
std::optional<double> as_number(const std::string& text);

/// Whether the row is one of those.
bool selects(const ResultTable& table, const RowSelection& selection, const ResultLine& row);

/// The rows that "where" selects, and what each draws: `y` over what it is divided by, in its unit. Throws InputError.
struct PlotData {
  const ResultTable& table;
  const PlotOptions& options;
  std::vector<const ResultLine*> rows;
  std::vector<double> y;                         ///< of each; empty where the kind draws other columns
  std::vector<RelativeEfficiency> efficiencies;  ///< of each; empty where no kind draws them
};
PlotData data_of(const ResultTable& table, const PlotOptions& options);

/// What there is at one place of a figure.
struct PlotPoint {
  std::string x;
  std::size_t row = 0;  ///< of PlotData's
};
struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;
};
struct PlotPanel {
  std::string title;
  std::vector<PlotSeries> series;
};

/// What a figure may have at most: more than anybody reads.
constexpr std::size_t most_panels = 100, most_series = 200, most_points = 2000;

/// Throws InputError at the row beyond.
void require_at_most(std::size_t most, std::size_t count, const char* what, const PlotData& data,
                     const ResultLine& row);

/// The rows in panels and series, in the order of the file. Throws InputError where two rows are one point.
std::vector<PlotPanel> panels_of(const PlotData& data);

/// What these columns of the row say, in words.
std::string title_of(const PlotData& data, const ResultLine& row, const std::vector<std::string>& columns);

}  // namespace allreplay
