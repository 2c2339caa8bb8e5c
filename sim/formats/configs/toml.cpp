#include <algorithm>
#include <sstream>
#include <toml++/toml.h>

#include <fmt/format.h>

#include "sim/formats/configs/entries.hpp"

namespace allreplay {

namespace {

class TomlFlattener {
 public:
  explicit TomlFlattener(const std::string& file) : entries_(file) {}

  void add(const toml::node& node, const std::string& key) {
    const SourceLocation place{entries_.file(),
                               fmt::format("line {}{}{}", node.source().begin.line, key.empty() ? "" : ": ", key)};
    if (const toml::table* table = node.as_table()) {
      for (const auto& [name, value] : *table) add(value, key_below(key, name.str(), place));
    } else if (const toml::array* array = node.as_array()) {
      std::size_t i = 0;
      for (const toml::node& item : *array) add(item, key_below(key, std::to_string(i++), place));
    } else {
      entries_.add(key, text_of(node), place);
    }
  }

  Entries entries() { return std::move(entries_); }

 private:
  static std::string text_of(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
    if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
    if (const auto* yes = node.as_boolean()) return yes->get() ? "true" : "false";
    return "a date";
  }

  Entries entries_;
};

// The end of the string in quotes, one or three, that starts at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const std::string_view quotes = text.substr(at, text.substr(at).starts_with(three) ? 3 : 1);
  for (std::size_t i = at + quotes.size(); i < text.size(); ++i) {
    if (text.substr(i).starts_with(quotes)) {
      const std::size_t end = i + quotes.size();  // a string in three quotes may end in two more
      return quotes.size() == 1 ? end : std::min(text.find_first_not_of(quote, end), text.size());
    }
    if (text[i] == '\n' && quotes.size() == 1) return i;
    if (text[i] == '\\' && quote == '"') ++i;
  }
  return text.size();
}

// toml++ recurses into each part of a key, and into up to 256 values within each other.
void require_short_keys(std::string_view text, const std::string& file) {
  constexpr int most = 20;
  int dots = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = end_of_string(text, i);
      continue;
    }
    i = c == '#' ? std::min(text.find('\n', i), text.size()) : i + 1;
    if (c == '.' && ++dots == most)
      throw InputError({file, fmt::format("line {}", 1 + std::count(text.begin(), text.begin() + i, '\n'))},
                       "has a key of too many parts", fmt::format("at most {}", most));
    if (c == '\n' || c == '=' || c == ',') dots = 0;
  }
}

}  // namespace

Entries entries_of_toml(std::string_view text, const std::string& file) {
  require_short_keys(text, file);
  try {
    TomlFlattener flattener(file);
    flattener.add(toml::parse(text, file), "");
    return flattener.entries();
  } catch (const toml::parse_error& error) {
    throw InputError({file, fmt::format("line {}", error.source().begin.line)},
                     fmt::format("is not TOML: {}", error.description()), "a file of torchtitan");
  }
}

}  // namespace allreplay
