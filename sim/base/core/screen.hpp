// The terminal that output is read on.
#pragma once

#include <cstddef>

namespace allreplay {

struct Screen {
  std::size_t width = 80;  ///< characters
};

/// True if `stream` is a terminal. False below Open MPI, which gives each rank a pseudo-terminal wherever output goes.
bool is_terminal(int stream);

/// Standard output. Its width is COLUMNS, else the terminal's, else 80.
Screen screen();

/// The width of standard error: COLUMNS, else the terminal's width, else unlimited, since programs read whole lines.
std::size_t width_of_standard_error();

}  // namespace allreplay
