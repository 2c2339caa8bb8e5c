// Every reader of what users write, and what each must survive: any text at all.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

struct TextReader {
  std::string_view name;
  std::vector<std::string> (*seeds)();    ///< texts that are right, or nearly
  void (*read)(const std::string& text);  ///< and, of what can be run, a small scenario run
};

std::span<const TextReader> text_readers();

/// Ends the program unless it holds.
void require(bool holds, std::string_view what);

/// Reads the text. An InputError (one line, not too long), TimeOverflow or Stuck is a fine answer; anything else ends
/// the program. Returns what was complained of; "" where it was taken.
std::string exercise(const TextReader& reader, const std::string& text);
