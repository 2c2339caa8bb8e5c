// Help on keys of input files, which their schemas describe.
#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/json_value.hpp"
#include "sim/base/core/text.hpp"
#include "sim/programs/command/help.hpp"

namespace allreplay {

namespace {

// Collects the keys of a schema that have a description, or refer to a definition that has one.
class KeyCollector {
 public:
  explicit KeyCollector(std::string_view schema) : schema_(JsonValue::parse(schema)) {
    add_keys(schema_, "");
    for (const auto& [name, part] : schema_.at("$defs").items()) add_keys(part, name);
  }

  std::vector<KeyDescription> keys;

 private:
  // `place`: the keys around this part in a file; for a definition, its name.
  void add_keys(const JsonValue& part, const std::string& place) {
    if (!part.is_structured()) return;
    for (const auto& [name, value] : part.items()) {
      if (name == "$defs") continue;
      if (name != "properties") add_keys(value, place);
      if (name != "properties") continue;
      for (const auto& [key, about] : value.items()) {
        add({key, place, description_of(about)});
        add_keys(about, place.empty() ? key : place + "/" + key);
      }
    }
  }

  // A key that several places share is explained at the outermost.
  void add(KeyDescription one) {
    if (one.about.empty()) return;
    const auto is_same = [&](const auto& other) { return other.key == one.key && other.about == one.about; };
    const auto known = std::ranges::find_if(keys, is_same);
    if (known == keys.end())
      keys.push_back(std::move(one));
    else if (one.place.size() < known->place.size())
      known->place = one.place;
  }

  std::string description_of(const JsonValue& about) const {
    constexpr std::string_view own = "#";
    if (!about.is_object()) return "";
    if (about.contains("description")) return about.at("description").get<std::string>();
    const std::string reference = about.value("$ref", "");
    if (!reference.starts_with(own)) return "";
    return schema_.at(JsonValue::json_pointer(reference.substr(own.size()))).value("description", "");
  }

  const JsonValue schema_;
};

}  // namespace

std::vector<KeyDescription> keys_of_schema(std::string_view schema) { return KeyCollector(schema).keys; }

std::string key_help(std::string_view schema, std::string_view file, std::string_view key, std::size_t width) {
  std::string text;
  for (const KeyDescription& one : keys_of_schema(schema))
    if (one.key == key)
      text += wrapped(
          fmt::format("{}{}: {}\n", key, one.place.empty() ? "" : fmt::format(", in \"{}\"", one.place), one.about),
          width, 2);
  return text.empty() ? "" : text + fmt::format("A key of a {} file; see docs/formats.md.\n", file);
}

}  // namespace allreplay
