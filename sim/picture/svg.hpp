// Drawings as SVG: text that can be searched and copied, and a word about each shape under the pointer.
#pragma once

#include <string>
#include <string_view>

#include "sim/picture/drawing.hpp"

namespace allreplay {

/// Writes one SVG document. The same drawing gives the same bytes everywhere. A drawing for a page has `ids`, a prefix
/// of its ids that no other drawing of the page has; its series are groups with `data-series`, and the meaning of a
/// shape is `data-says` instead of a title, so that the page's script shows it.
std::string to_svg(const Drawing& drawing, const std::string& ids = "");

/// As text or in an attribute of SVG and HTML.
std::string escaped(std::string_view text);

}  // namespace allreplay
