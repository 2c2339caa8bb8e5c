// Comma-separated values (RFC 4180): quoted fields, doubled quotes, LF or CRLF.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace allreplay {

struct CsvRow {
  int line = 0;  ///< the line of the file on which it starts, from 1
  std::vector<std::string> fields;
};

/// The rows of a text without its blank lines. Throws InputError if a quote is never closed, if the bytes are not UTF-8
/// text, and beyond a million rows or ten million fields.
std::vector<CsvRow> parse_csv(std::string_view text, const std::string& file);

/// The same, row by row: `each` may take what it needs, and nothing else is kept.
void parse_csv(std::string_view text, const std::string& file, const std::function<void(CsvRow& row)>& each);

/// The field as a file contains it: quoted if necessary.
std::string csv_field(std::string_view value);

}  // namespace allreplay
