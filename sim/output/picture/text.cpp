#include "sim/base/core/text.hpp"

#include <algorithm>

#include "sim/output/picture/drawing.hpp"

namespace allreplay {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

}  // namespace

std::string displayable(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const bool control = length == 1 && (static_cast<unsigned char>(text[0]) < 0x20 || text[0] == 0x7F);
    // U+FFFE and U+FFFF are no characters either, and XML rejects them.
    const bool none = length == 3 && (text.substr(0, 3) == "\xEF\xBF\xBE" || text.substr(0, 3) == "\xEF\xBF\xBF");
    clean += length == 0 || control || none ? replacement : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return clean;
}

namespace {

// The number of bytes of `clean`, in whole characters, that leave room for `ending` in `most`.
std::size_t fitting(const std::string& clean, const std::string& ending, double size, double most, bool bold,
                    std::string_view font) {
  std::vector<std::size_t> cuts{0};  // after 0, 1, 2, … characters
  while (cuts.back() < clean.size())
    cuts.push_back(cuts.back() + character_length(std::string_view(clean).substr(cuts.back())));
  const auto beyond = std::partition_point(cuts.begin(), cuts.end(), [&](std::size_t bytes) {
    return text_width(clean.substr(0, bytes) + ending, size, bold, font) <= most;
  });
  return beyond == cuts.begin() ? 0 : *(beyond - 1);
}

}  // namespace

std::string fitted(std::string_view text, double size, double most, bool bold, std::string_view font) {
  std::string clean = displayable(text);
  if (text_width(clean, size, bold, font) <= most) return clean;
  const std::size_t bytes = fitting(clean, "…", size, most, bold, font);
  return bytes == 0 ? "" : clean.substr(0, bytes) + "…";
}

std::vector<std::string> wrapped(std::string_view text, double size, double most, bool bold, std::string_view font) {
  std::vector<std::string> lines;
  std::string rest(text);
  std::replace(rest.begin(), rest.end(), '\n', ' ');
  rest = displayable(rest);
  while (!rest.empty()) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    std::string word = rest.substr(0, space);
    rest.erase(0, space + 1);
    if (word.empty()) continue;
    if (!lines.empty() && text_width(lines.back() + " " + word, size, bold, font) <= most) {
      lines.back() += " " + word;
      continue;
    }
    while (text_width(word, size, bold, font) > most) {  // a word wider than the page continues on the next line
      const std::size_t bytes = fitting(word, "", size, most, bold, font);
      if (bytes == 0) break;
      lines.push_back(word.substr(0, bytes));
      word.erase(0, bytes);
    }
    lines.push_back(word);
  }
  return lines;
}

}  // namespace allreplay
