// The lines of a text, and the words of a line: what the importers of logs and tables work on.
#pragma once

#include <string_view>
#include <vector>

namespace allreplay {

struct TextLine {
  int number = 0;         ///< in the file, from 1
  std::string_view text;  ///< without its end (LF or CRLF)
};

/// All lines, blank ones too. Views into `text`.
std::vector<TextLine> text_lines(std::string_view text);

/// What blanks and tabs separate. Views into `line`.
std::vector<std::string_view> words(std::string_view line);

/// Without blanks and tabs at its ends.
std::string_view trimmed(std::string_view text);

}  // namespace allreplay
