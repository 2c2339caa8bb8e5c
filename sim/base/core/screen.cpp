#include "sim/base/core/screen.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sys/ioctl.h>
#include <unistd.h>

namespace allreplay {

namespace {

constexpr std::size_t least = 40, usual = 80;  // below `least` no table has room for a name and a number

// The width of a stream; 0 if it is not known.
std::size_t known_width(int stream) {
  if (const char* text = std::getenv("COLUMNS")) {
    std::size_t columns = 0;
    const char* const end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, columns);
    if (error == std::errc() && rest == end && columns > 0) return std::max(columns, least);
  }
  winsize size{};
  if (is_terminal(stream) && ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max<std::size_t>(size.ws_col, least);
  return 0;
}

}  // namespace

bool is_terminal(int stream) { return isatty(stream) != 0 && !std::getenv("OMPI_COMM_WORLD_RANK"); }

Screen screen() {
  const std::size_t known = known_width(STDOUT_FILENO);
  return {.width = known > 0 ? known : usual};
}

std::size_t width_of_standard_error() {
  const std::size_t known = known_width(STDERR_FILENO);
  return known > 0 ? known : std::numeric_limits<std::size_t>::max();
}

}  // namespace allreplay
