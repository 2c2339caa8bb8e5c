// Writes drawings as SVG: text can be searched and copied, and hovering over a shape shows its title.
#pragma once

#include <string>
#include <string_view>

#include "sim/picture/drawing.hpp"

namespace allreplay {

/// Returns an SVG document; the same drawing gives the same bytes everywhere. `ids` is the prefix of all its ids, which
/// has to be unique among the drawings of a page.
std::string to_svg(const Drawing& drawing, const std::string& ids = "");

/// Escapes text for SVG and HTML, also in attributes.
std::string escaped(std::string_view text);

}  // namespace allreplay
