// Drawings as SVG: text that can be searched and copied, and a word about each shape under the pointer.
#pragma once

#include <string>

#include "sim/picture/drawing.hpp"

namespace allreplay {

/// One SVG document. The same drawing gives the same bytes everywhere.
std::string to_svg(const Drawing& drawing);

}  // namespace allreplay
