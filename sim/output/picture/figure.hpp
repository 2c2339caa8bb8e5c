// Small multiples: several charts of one kind in rows and columns, with one legend and one note.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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

enum class LegendPlace : std::uint8_t { Top, Right, Bottom, None };

struct Figure {
  std::string title;  ///< for readers who do not see the drawing
  std::vector<LegendEntry> legend;
  std::vector<FigurePanel> panels;
  std::size_t columns = 2;   ///< of panels
  double panel_width = 408;  ///< two are as wide as a page of text, so that a screen does not shrink letters
  std::string note;
  LegendPlace legend_place = LegendPlace::Top;
  std::optional<double> width;                 ///< of the file's picture, in pixels of 1/96 inch; panels then share it
  std::string font = std::string(usual_font);  ///< see Drawing
  double zoom = 1;
};

/// Returns the width that draw() gives each panel. It is not positive if the figure's width has no room for them.
double panel_width_of(const Figure& figure);

/// Adds a chart as a panel, and the names of its series to the legend.
void add_panel(Figure& figure, const std::string& title, Chart chart);
void add_panel(Figure& figure, const std::string& title, RowChart chart);

/// REQUIRES: at least one panel (std::logic_error).
Drawing draw(const Figure& figure);

}  // namespace allreplay
