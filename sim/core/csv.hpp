// Comma-separated values (RFC 4180): quoted fields, doubled quotes, LF or CRLF.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace allreplay {

struct CsvRow {
  int line = 0;  ///< where it starts in the file, from 1
  std::vector<std::string> fields;
};

/// The rows of a text, blank lines left out. Throws InputError at a quote that is never closed and at
/// bytes that are not UTF-8 text, and beyond a million rows or ten million fields.
std::vector<CsvRow> parse_csv(std::string_view text, const std::string& file);

/// The field as it stands in a file: quoted when it has to be.
std::string csv_field(std::string_view value);

}  // namespace allreplay
