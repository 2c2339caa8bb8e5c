// Drawings as SVG: text that can be searched and copied, and a word about each shape under the pointer.
#pragma once

#include <string>
#include <string_view>

#include "sim/picture/drawing.hpp"

namespace allreplay {

/// One SVG document. The same drawing gives the same bytes everywhere. `ids` is what all its ids begin with: where
/// several stand on one page, each has its own.
std::string to_svg(const Drawing& drawing, const std::string& ids = "");

/// As text or in an attribute of SVG and HTML.
std::string escaped(std::string_view text);

}  // namespace allreplay
