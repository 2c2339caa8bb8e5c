// Splits a text into lines, and a line into words, for the importers of logs and tables.
#pragma once

#include <string_view>
#include <vector>

namespace allreplay {

struct TextLine {
  int number = 0;         ///< in the file, from 1
  std::string_view text;  ///< without the line break (LF or CRLF)
};

/// Returns all lines, including blank ones, as views into `text`.
std::vector<TextLine> text_lines(std::string_view text);

/// Splits at blanks and tabs. Returns views into `line`.
std::vector<std::string_view> words(std::string_view line);

/// Removes blanks and tabs at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace allreplay
