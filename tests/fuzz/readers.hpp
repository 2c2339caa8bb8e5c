// The readers of users' texts, for fuzzing: each has to survive any text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

struct TextReader {
  std::string_view name;
  std::vector<std::string> (*seeds)();    ///< texts that are valid, or nearly
  void (*read)(const std::string& text);  ///< and runs a small scenario if possible
};

std::span<const TextReader> text_readers();

/// Ends the program unless it holds.
void require(bool holds, std::string_view what);

/// Reads the text. InputError (one line, not too long), TimeOverflow and Stuck are allowed; any other exception ends
/// the program. Returns the error's message; "" if the text is valid.
std::string exercise(const TextReader& reader, const std::string& text);
