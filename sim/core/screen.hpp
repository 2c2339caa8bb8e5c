// What a person reads on: how wide it is, and whether it has colours.
#pragma once

#include <cstddef>

namespace allreplay {

struct Screen {
  std::size_t width = 80;  ///< characters
  bool colour = false;
};

/// Whether a person may be there to see it. Open MPI gives each rank a terminal of its own, wherever what is written
/// there goes: that is none.
bool is_terminal(int stream);

/// Standard output's: COLUMNS where it is set, else the terminal's width, else 80. Colours on a terminal where NO_COLOR
/// is not set.
Screen screen();

/// Standard error's width: COLUMNS, or the terminal's. Elsewhere a line has no end, since programs read it by lines.
std::size_t width_of_standard_error();

}  // namespace allreplay
