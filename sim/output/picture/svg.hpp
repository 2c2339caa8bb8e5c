// Writes drawings as SVG: text can be searched and copied, and hovering over a shape shows its title.
#pragma once

#include <string>
#include <string_view>

#include "sim/output/picture/drawing.hpp"

namespace allreplay {

/// Returns an SVG document; the same drawing gives the same bytes everywhere. A drawing for a page has `ids`, the
/// prefix of all its ids, which is unique among the drawings of the page; then series are groups with `data-series`,
/// and a shape's meaning is `data-says` instead of a title, so that the page's script shows it.
std::string to_svg(const Drawing& drawing, const std::string& ids = "");

/// Escapes text for SVG and HTML, also in attributes.
std::string escaped(std::string_view text);

}  // namespace allreplay
