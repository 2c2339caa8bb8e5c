// Text: UTF-8 (RFC 3629).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace allreplay {

/// The length in bytes of the character that `text` starts with, or 0 where it starts with none: bytes that are not
/// UTF-8 (surrogates and overlong forms are not), and control characters other than tab and the ends of lines.
std::size_t character_length(std::string_view text);

/// The text with a question mark for every byte that belongs to no character.
std::string as_text(std::string_view bytes);

/// Whether the text is characters alone, and none of them the end of a line or a tab: what can stand in a message, in
/// a line of a list and in a cell, and moves no terminal's cursor.
bool is_one_line(std::string_view text);

/// The text as one line of at most `most` bytes: a space for every end of a line or tab, a question mark for every
/// other byte that could not stand there, and an ellipsis where it was cut.
std::string one_line(std::string_view text, std::size_t most);

/// A word of a command as a shell reads it back, and several.
std::string shell_word(const std::string& word);
std::string shell_words(const std::vector<std::string>& words);

/// "1 worker", "2 workers".
std::string counted(std::int64_t count, std::string_view noun);

/// How many columns of a screen the text takes: its characters, not its bytes.
std::size_t width_of(std::string_view text);

/// The longest words of a text, or of a command, that stay in one line: one, or a number with what it counts, or a flag
/// with its value.
std::size_t longest_unbroken(std::string_view text, bool is_command = false);

/// Prose in lines of at most `width` characters. They end between words, so that a path stays whole, be it longer than
/// a line; ends of lines that are there stay. What is carried over starts with `indent` blanks. A command between
/// backticks is broken as wrapped_command() does.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent = 0);

/// A command in lines that a shell reads as one: all but the last end in a backslash, and none within quotes.
std::string wrapped_command(std::string_view command, std::size_t width, std::size_t indent = 0);

/// Without white space at its ends.
std::string_view trim(std::string_view text);

/// What stands between separators: one part more than there are separators. REQUIRES: a separator that is not empty.
std::vector<std::string_view> split(std::string_view text, std::string_view separator);

}  // namespace allreplay
