// The looks of series: colours, dashes and markers that neither colour-blind readers nor a grey print confuse.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/output/picture/drawing.hpp"

namespace allreplay {

struct SeriesLook {
  Colour colour;
  std::vector<double> dashes;    ///< on, off, …; a solid line if empty
  std::vector<Position> marker;  ///< a polygon around 0, of about radius 1; a circle if empty
  bool hollow = false;           ///< leaves a marker below it visible
  Hatch hatch = Hatch::None;     ///< of its bars
};

/// The number of series with different looks.
constexpr std::size_t different_looks = 26;

/// The look of a series by index, repeating after the last one. The first ones differ most.
SeriesLook series_look(std::size_t place);

Look line_look(const SeriesLook& look);
Look reference_look();  ///< of a line that others are compared with, which is behind them
Look bar_look(const SeriesLook& look);

/// Draws the marker around `at`.
void add_marker(Drawing& drawing, const SeriesLook& look, Position at, const Meaning& meaning = {});

/// Draws an error bar from one end to the other, with a cap at each end that has one; nothing if it has no length.
void add_error_bar(Drawing& drawing, const Look& look, Position from, Position to, bool cap_from, bool cap_to);

/// Draws a cross at `at`, over a result that does not count.
void add_cross(Drawing& drawing, Position at);

}  // namespace allreplay
