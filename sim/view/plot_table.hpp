// The rows of a CSV as figures read them: texts by column, and numbers where they are drawn.
#pragma once

#include <string>
#include <vector>

#include "sim/view/plot_options.hpp"

namespace allreplay {

struct PlotRow {
  int line = 0;  ///< in the file, from 1
  std::vector<std::string> cells;
  bool fits = true;  ///< into the memory that its options say there is
};

struct PlotTable {
  std::string file;
  std::vector<std::string> columns;  ///< those of the file, and one for each option of the rows that is none already
  std::vector<PlotRow> rows;

  /// Throws InputError where there is no such column.
  std::size_t place(const std::string& column) const;
  bool has(const std::string& column) const;
  const std::string& text(const PlotRow& row, const std::string& column) const { return row.cells[place(column)]; }
  /// Throws InputError unless it is a number of at least 0.
  double number(const PlotRow& row, const std::string& column) const;
};

/// What `allreplay sweep --out` or `tune --out` wrote, or any other CSV with a header. Throws InputError.
PlotTable read_plot_table(const Files& files, const std::string& file);

/// Whether the row is one of those.
bool selects(const PlotTable& table, const RowSelection& selection, const PlotRow& row);

/// The rows that "where" selects, and what each draws: `y` over what it is divided by, in its unit. Throws InputError.
struct PlotData {
  const PlotTable& table;
  const PlotOptions& options;
  std::vector<const PlotRow*> rows;
  std::vector<double> y;  ///< of each; empty where the kind draws other columns
};
PlotData data_of(const PlotTable& table, const PlotOptions& options);

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
void require_at_most(std::size_t most, std::size_t count, const char* what, const PlotData& data, const PlotRow& row);

/// The rows in panels and series, in the order of the file. Throws InputError where two rows are one point.
std::vector<PlotPanel> panels_of(const PlotData& data);

/// What these columns of the row say, in words.
std::string title_of(const PlotData& data, const PlotRow& row, const std::vector<std::string>& columns);

}  // namespace allreplay
