// How a series is told from others: by colour, dashes and marker, so that neither colour-blind readers nor a grey print
// mix two of them up. What draws series, in pictures or elsewhere, takes it from here.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/picture/drawing.hpp"

namespace allreplay {

struct SeriesLook {
  Colour colour;
  std::vector<double> dashes;    ///< on, off, …; a whole line if empty
  std::vector<Position> marker;  ///< a polygon around 0, of about radius 1; a circle if empty
  bool hollow = false;           ///< leaves a marker below it visible
  Hatch hatch = Hatch::None;     ///< of its bars
};

/// So many differ in colour, and so many in marker.
constexpr std::size_t different_looks = 22;

/// Of the n-th series, going round beyond those that differ. The first ones are told apart best.
SeriesLook series_look(std::size_t place);

Look line_look(const SeriesLook& look);
Look bar_look(const SeriesLook& look);

/// Draws its marker around `at`.
void add_marker(Drawing& drawing, const SeriesLook& look, Position at, const Meaning& meaning = {});

/// Draws a cross over what is at `at` and does not count.
void add_cross(Drawing& drawing, Position at);

}  // namespace allreplay
