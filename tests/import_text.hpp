// Importing a text as if a file held it.
#pragma once

#include <algorithm>
#include <string>

#include "tests/error_place.hpp"

#include "sim/formats/interchange/importers/importer.hpp"

inline allreplay::Imported import_text(const std::string& format, const std::string& text,
                                       const allreplay::ImportOptions& options) {
  allreplay::ByteSource source("file", text);
  return allreplay::import_profile(allreplay::find_importer(format, {"test", ""}), source, options);
}

/// With a batch size, which most formats lack.
inline allreplay::Imported import_text(const std::string& format, const std::string& text) {
  allreplay::ImportOptions options;
  options.batch_size = 1;
  return import_text(format, text, options);
}

/// The complaint about it, or "".
inline std::string refusal(const std::string& format, const std::string& text) {
  return error_place([&] { import_text(format, text); });
}

inline bool has_note(const allreplay::Imported& imported, const std::string& part) {
  return std::any_of(imported.notes.begin(), imported.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}
