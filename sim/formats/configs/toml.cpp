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
    const auto below = [&](std::string_view name) {
      return key.empty() ? std::string(name) : key + "." + std::string(name);
    };
    if (const toml::table* table = node.as_table()) {
      for (const auto& [name, value] : *table) add(value, below(name.str()));
    } else if (const toml::array* array = node.as_array()) {
      std::size_t i = 0;
      for (const toml::node& item : *array) add(item, below(std::to_string(i++)));
    } else {
      entries_.add(key, text_of(node), {entries_.file(), fmt::format("line {}: {}", node.source().begin.line, key)});
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

}  // namespace

Entries entries_of_toml(std::string_view text, const std::string& file) {
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
