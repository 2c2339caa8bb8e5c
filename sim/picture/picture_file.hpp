// Pictures as files.
#pragma once

#include <string>

#include "sim/core/error.hpp"
#include "sim/picture/drawing.hpp"

namespace allreplay {

class Files;

/// Whether the name ends as pictures do: .svg, .png or .pdf.
bool is_picture(const std::string& file);

/// Throws InputError at `place` unless it does; `others` names further endings that would be right (", .json").
void require_picture(const std::string& file, const SourceLocation& place, const std::string& others = "");

/// Writes the drawing in the format that the file's name asks for, whole or not at all (Files::write()); a PNG has so
/// many pixels for each of the drawing's: two, so that text is sharp on screens and in print, unless said otherwise.
/// REQUIRES: is_picture(file). Throws InputError.
void write_picture(const Files& files, const std::string& file, const Drawing& drawing, double pixels = 2);

}  // namespace allreplay
