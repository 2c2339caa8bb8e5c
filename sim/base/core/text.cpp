#include "sim/base/core/text.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace allreplay {

std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x20) return first == '\t' || first == '\n' || first == '\r' ? 1 : 0;
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first < 0xE0   ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second >= 0xA0;
  if (overlong || surrogate || (first == 0xF4 && second >= 0x90)) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  return length;
}

std::string as_text(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    if (length == 0)
      text += '?';
    else
      text += bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

namespace {

// Like character_length(), but also 0 for characters that move the cursor or are invisible: line ends, tabs, Latin-1's
// control characters (U+0080 to U+009F), Unicode's line ends, direction marks and zero-width spaces (U+061C, U+200B,
// U+200E, U+200F, U+2028 to U+202E, U+2060 to U+206F, U+FEFF). Joiners (U+200C, U+200D) are allowed: scripts need them.
std::size_t shown_length(std::string_view text) {
  const std::size_t length = character_length(text);
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 1 && (byte(0) < 0x20 || byte(0) == 0x7F)) return 0;
  if (length == 2 && byte(0) == 0xC2 && byte(1) < 0xA0) return 0;
  if (length == 2 && byte(0) == 0xD8 && byte(1) == 0x9C) return 0;
  if (length == 3 && byte(0) == 0xE2 && byte(1) == 0x80 &&
      (byte(2) == 0x8B || byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE)))
    return 0;
  if (length == 3 && byte(0) == 0xE2 && byte(1) == 0x81 && byte(2) >= 0xA0 && byte(2) <= 0xAF) return 0;
  if (length == 3 && byte(0) == 0xEF && byte(1) == 0xBB && byte(2) == 0xBF) return 0;
  return length;
}

}  // namespace

bool is_one_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = shown_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string one_line(std::string_view text, std::size_t most) {
  constexpr std::string_view ellipsis = "…";
  std::string line;
  std::size_t fits = 0;  // bytes of `line` that leave room for an ellipsis
  while (!text.empty()) {
    const std::size_t length = shown_length(text);
    const char first = text.front();
    if (length > 0)
      line += text.substr(0, length);
    else
      line += first == '\n' || first == '\r' || first == '\t' ? ' ' : '?';
    text.remove_prefix(length == 0 ? 1 : length);
    if (line.size() > most) return line.substr(0, fits) + std::string(ellipsis);
    if (line.size() + ellipsis.size() <= most) fits = line.size();
  }
  return line;
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : noun.ends_with("ch") ? "es" : "s");
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

namespace {

// True if no line may end after `word`: a number stays with its noun or unit, a flag with its value.
bool stays_with_next(std::string_view word) {
  if (word.starts_with("--") || word == "-o") return word.find('=') == std::string_view::npos;
  if (word.starts_with('+') || word.starts_with('-')) word.remove_prefix(1);
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word.front())) != 0 &&
         word.find_first_not_of("0123456789.,") == std::string_view::npos && word.back() != ',' && word.back() != '.';
}

// Words that are not separated by a line end. in_command: they belong to a command that continues after them.
struct Unbroken {
  std::string_view words;
  bool in_command;
};

// The end of the word that starts at `at`. In a command, which a pair of backticks encloses, it may have quoted spaces.
std::size_t end_of_word(std::string_view text, std::size_t at, bool& in_command) {
  char quote = '\0';
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == ' ' || c == '\n') {
      break;
    } else if (c == '`') {
      in_command = !in_command && text.substr(at + 1, text.find('\n', at) - at - 1).find('`') != std::string::npos;
    } else if (in_command && c == '\\') {
      ++at;
    } else if (in_command && (c == '\'' || c == '"')) {
      quote = c;
    }
  }
  return std::min(at, text.size());
}

Unbroken first_unbroken(std::string_view text, bool in_command) {
  std::size_t end = 0;
  for (;;) {
    const std::size_t start = end;
    end = end_of_word(text, start, in_command);
    if (end + 1 >= text.size() || text[end] == '\n' || text[end + 1] == ' ' || text[end + 1] == '\n' ||
        !stays_with_next(text.substr(start, end - start)) || text.substr(end + 1).starts_with("--"))
      return {text.substr(0, end), in_command};
    ++end;
  }
}

constexpr std::string_view continuation = " \\";  // ends a line of a command that continues

std::string break_lines(std::string_view text, std::size_t width, std::size_t indent, bool in_command) {
  const bool is_command = in_command;  // the text is one command
  std::string result, spaces;          // `spaces`: those before the next words
  std::size_t at = 0;                  // the width of the current line
  bool empty = true;                   // the line has no word yet
  while (!text.empty()) {
    if (text.front() == '\n') {
      result += '\n';
      at = 0, empty = true, spaces.clear();
      text.remove_prefix(1);
    } else if (text.front() == ' ') {
      spaces += ' ';
      text.remove_prefix(1);
    } else {
      const Unbroken next = first_unbroken(text, in_command);
      text.remove_prefix(next.words.size());
      const bool last = is_command ? text.empty() : !next.in_command;
      const std::size_t length = width_of(next.words);
      if (!empty && at + spaces.size() + length + (last ? 0 : continuation.size()) > width) {
        result += in_command ? continuation : "";
        result += '\n';
        at = 0, spaces.assign(indent, ' ');
      }
      result += spaces;
      result += next.words;
      at += spaces.size() + length;
      empty = false, spaces.clear();
      in_command = next.in_command;
    }
  }
  return result;
}

}  // namespace

std::size_t longest_unbroken(std::string_view text, bool is_command) {
  std::size_t longest = 0;
  for (bool in_command = is_command; !text.empty();) {
    const Unbroken next = first_unbroken(text, in_command);
    text.remove_prefix(std::min(text.size(), next.words.size() + 1));
    in_command = next.in_command;
    const bool last = is_command ? text.empty() : !in_command;
    longest = std::max(longest, width_of(next.words) + (last ? 0 : continuation.size()));
  }
  return longest;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  return break_lines(text, width, indent, false);
}

std::string wrapped_command(std::string_view command, std::size_t width, std::size_t indent) {
  return break_lines(command, width, indent, true);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + separator.size());
  }
}

}  // namespace allreplay
