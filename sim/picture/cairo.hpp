// Drawings as PNG and PDF, by cairo.
#pragma once

#include <string>

#include "sim/picture/drawing.hpp"

namespace allreplay {

/// Two pixels of the file for each of the drawing's, so that text is sharp on screens and in print.
std::string to_png(const Drawing& drawing);
std::string to_pdf(const Drawing& drawing);

}  // namespace allreplay
