// Small multiples: several charts of one kind in rows and columns, with one legend and one note.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/output/picture/chart.hpp"
#include "sim/output/picture/drawing_parts.hpp"
#include "sim/output/picture/row_chart.hpp"

namespace allreplay {

struct FigurePanel {
  std::string title;                                ///< "" for none
  std::function<double(Drawing&, const Box&)> add;  ///< draws like add_chart()
};

struct Figure {
  std::string title;  ///< for readers who do not see the drawing
  std::vector<LegendEntry> legend;
  std::vector<FigurePanel> panels;
  std::size_t columns = 2;   ///< of panels
  double panel_width = 408;  ///< two are as wide as a page of text, so that a screen does not shrink letters
  std::string note;
};

/// Adds a chart as a panel, and the names of its series to the legend.
void add_panel(Figure& figure, const std::string& title, Chart chart);
void add_panel(Figure& figure, const std::string& title, RowChart chart);

/// REQUIRES: at least one panel (std::logic_error).
Drawing draw(const Figure& figure);

}  // namespace allreplay
