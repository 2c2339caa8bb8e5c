// What every importer must survive: any bytes at all.
#pragma once

#include <string_view>

#include "sim/interchange/importers/importer.hpp"

/// Imports the bytes, gzipped or not. An InputError (one line) or TimeOverflow is a fine answer, and so is a profile
/// whose trace is read back the same; anything else ends the program.
void exercise(const allreplay::Importer& importer, std::string_view bytes);
