// The style of all pictures: sizes, greys, and colours that colour-blind readers can distinguish (Okabe and Ito, 2008).
#pragma once

#include "sim/output/picture/drawing.hpp"

namespace allreplay::style {

inline constexpr double title_size = 13, text_size = 11, small_size = 9.5;
inline constexpr double margin = 14;  // around everything

inline constexpr Colour ink = colour(0x222222), faint_ink = colour(0x666666), grid = colour(0xDDDDDD);

inline constexpr Colour blue = colour(0x0072B2), vermilion = colour(0xD55E00), green = colour(0x009E73),
                        black = colour(0x000000), purple = colour(0xCC79A7), orange = colour(0xE69F00),
                        sky = colour(0x56B4E9), yellow = colour(0xF0E442), pale_blue = colour(0xBFDCEF),
                        pale_green = colour(0x66C2A5);

}  // namespace allreplay::style
