// The looks of series (picture/series_look.hpp) for the page.
#pragma once

#include <string>

namespace allreplay {

/// Custom properties "--look-0", … of `:root`: the colours, and lighter ones for dark screens.
std::string looks_css();

/// {"looks": [{"dash", "marker", "hollow", "hatch"}], "strategies": {NAME: its place among the looks}}: dashes and
/// markers as SVG has them, hatches as the angles of their lines. A JSON text.
std::string looks_json();

}  // namespace allreplay
