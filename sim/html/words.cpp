#include "sim/html/words.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "sim/core/text.hpp"

namespace allreplay {

// Adding zero: a time that rounding left a picosecond below its bound is 0.0 % above it, not -0.0 %.
std::string ratio_text(double ratio) { return fmt::format("{:.1f} %", std::round(1000 * ratio) / 10 + 0.0); }

std::string in_words(std::size_t count) {
  constexpr std::array<std::string_view, 13> words{"no",    "one",   "two",  "three", "four",   "five",  "six",
                                                   "seven", "eight", "nine", "ten",   "eleven", "twelve"};
  return count < words.size() ? std::string(words[count]) : fmt::format("{}", count);
}

std::string workers_text(std::int64_t workers) { return counted(workers, "worker"); }

std::string workers_text(std::int64_t least, std::int64_t most) {
  return least == most ? workers_text(most) : fmt::format("{} to {} workers", least, most);
}

std::string listed(std::vector<std::string> names, std::size_t most) {
  if (names.size() > most) {
    const std::size_t more = names.size() - (most - 1);
    names.resize(most - 1);
    names.push_back(fmt::format("{} more", more));
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace allreplay
