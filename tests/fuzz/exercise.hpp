// Runs importers on any bytes, for fuzzing.
#pragma once

#include <string_view>

#include "sim/formats/interchange/importers/importer.hpp"

/// Imports the bytes, gzipped or not. Allowed results are InputError (one line), TimeOverflow, and a profile whose
/// trace is read back unchanged; anything else ends the program.
void exercise(const allreplay::Importer& importer, std::string_view bytes);
