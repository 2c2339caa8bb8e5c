// Text: UTF-8 (RFC 3629).
#pragma once

#include <string>
#include <string_view>

namespace allreplay {

/// The length in bytes of the character that `text` starts with, or 0 where it starts with none: bytes that are not
/// UTF-8 (surrogates and overlong forms are not), and control characters other than tab and the ends of lines.
std::size_t character_length(std::string_view text);

/// The text with a question mark for every byte that belongs to no character.
std::string as_text(std::string_view bytes);

}  // namespace allreplay
