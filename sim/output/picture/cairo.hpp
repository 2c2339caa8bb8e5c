// Writes drawings as PNG and PDF, by cairo.
#pragma once

#include <string>

#include "sim/output/picture/drawing.hpp"

namespace allreplay {

/// `pixels`: pixels of the file for each of the drawing's, times its zoom.
std::string to_png(const Drawing& drawing, double pixels = 2);
std::string to_pdf(const Drawing& drawing);

}  // namespace allreplay
