// Functions on UTF-8 text (RFC 3629): validation, one-line text, shell words, line wrapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace allreplay {

/// The length in bytes of the first character of `text`. 0 for bytes that are not UTF-8 (including surrogates and
/// overlong forms), and for control characters other than tab and line ends.
std::size_t character_length(std::string_view text);

/// The text with a question mark in place of every byte that belongs to no character.
std::string as_text(std::string_view bytes);

/// True if the text has only visible characters and spaces, and so fits into a message, a list and a table cell.
bool is_one_line(std::string_view text);

/// The text as one line of at most `most` bytes: replaces line ends and tabs by spaces and other invalid bytes by
/// question marks, and ends in an ellipsis if it was cut.
std::string one_line(std::string_view text, std::size_t most);

/// One word, or several, quoted for a shell if necessary.
std::string shell_word(const std::string& word);
std::string shell_words(const std::vector<std::string>& words);

/// "1 worker", "2 workers".
std::string counted(std::int64_t count, std::string_view noun);

/// The number of characters of the text.
std::size_t width_of(std::string_view text);

/// The width of the longest part that is never broken: a word, a number with its unit, or a flag with its value.
std::size_t longest_unbroken(std::string_view text, bool is_command = false);

/// Breaks prose between words into lines of at most `width` characters (a longer word gets a line of its own); new
/// lines start with `indent` spaces. Commands between backticks are broken as by wrapped_command().
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent = 0);

/// A command in lines that a shell reads as one: all but the last end in a backslash. Does not break within quotes.
std::string wrapped_command(std::string_view command, std::size_t width, std::size_t indent = 0);

/// The text without white space at its ends.
std::string_view trim(std::string_view text);

/// The text with small letters of ASCII instead of capital ones.
std::string lower_case(std::string_view text);

/// The parts between separators, one more than there are separators. REQUIRES: `separator` is not empty.
std::vector<std::string_view> split(std::string_view text, std::string_view separator);

}  // namespace allreplay
