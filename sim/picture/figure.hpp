// Several charts of one kind beside and below each other, with one legend and one note: small multiples.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/picture/drawing.hpp"
#include "sim/picture/drawing_parts.hpp"

namespace allreplay {

struct FigurePanel {
  std::string title;                                ///< "" for none
  std::function<double(Drawing&, const Box&)> add;  ///< as add_chart() does
};

struct Figure {
  std::string title;                ///< for readers who do not see it
  std::vector<LegendEntry> legend;  ///< none where names stand at the curves
  std::vector<FigurePanel> panels;
  std::size_t columns = 2;   ///< of panels
  double panel_width = 408;  ///< two are as wide as a page of text on a screen, where letters keep their size
  std::string note;
};

/// REQUIRES: at least one panel (std::logic_error).
Drawing draw(const Figure& figure);

}  // namespace allreplay
