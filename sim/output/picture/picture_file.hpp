// Writes pictures to files.
#pragma once

#include <string>

#include "sim/base/core/error.hpp"
#include "sim/output/picture/drawing.hpp"

namespace allreplay {

class Files;

/// True if the name ends with .svg, .png or .pdf.
bool is_picture(const std::string& file);

/// Throws InputError at `place` unless is_picture(file); `others` names further valid endings (", .json").
void require_picture(const std::string& file, const SourceLocation& place, const std::string& others = "");

/// Writes the drawing in the format of the file's ending, completely or not at all (Files::write()). A PNG has `pixels`
/// pixels for each of the drawing's: by default two, so that text is sharp on screens and in print. REQUIRES:
/// is_picture(file). Throws InputError.
void write_picture(const Files& files, const std::string& file, const Drawing& drawing, double pixels = 2);

}  // namespace allreplay
