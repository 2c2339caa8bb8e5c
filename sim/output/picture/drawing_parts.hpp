// The parts of every picture: a title, a legend, a note.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/output/picture/drawing.hpp"

namespace allreplay {

struct LegendEntry {
  std::string name;
  std::function<void(Drawing&, const Box&)> sample;  ///< draws an example of the look into the box
};

/// A legend's sample of a filled shape.
LegendEntry swatch(const std::string& name, const Look& look);

// Each adds its part below `top`, between the drawing's margins, and returns the y at which the next may begin.
double add_title(Drawing& drawing, double top, const std::string& title);
double add_text(Drawing& drawing, double top, const std::string& text);                    ///< keeps line breaks
double add_legend(Drawing& drawing, double top, const std::vector<LegendEntry>& entries);  ///< breaks long names
double add_note(Drawing& drawing, double top, const std::string& note);

/// Draws the legend as a column with `at` as its upper left corner; returns the y at which it ends. Names that are too
/// long for the width are broken into lines.
double add_legend_column(Drawing& drawing, Position at, double width, const std::vector<LegendEntry>& entries);
double width_of_legend(const std::vector<LegendEntry>& entries, std::string_view font);  ///< with each name in one line

/// Returns the parts of a line through these points that lie in the box.
std::vector<std::vector<Position>> clipped(const std::vector<Position>& line, const Box& box);

/// Returns the corners of the part of a polygon that lies in the box; parts may be joined by edges of no area.
std::vector<Position> clipped_area(std::vector<Position> corners, const Box& box);

}  // namespace allreplay
