// JSON that this program writes, or reads back. base/core/json.hpp reads JSON that people wrote.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

// Null for a value that is not there. (The library has this from version 3.12 on.)
template <class Value>
struct nlohmann::adl_serializer<std::optional<Value>> {
  template <class Json>
  static void to_json(Json& json, const std::optional<Value>& value) {
    if (value)
      json = *value;
    else
      json = nullptr;
  }
};

namespace allreplay {

/// A JSON value. Objects keep the order in which they are filled.
using JsonValue = nlohmann::ordered_json;

/// JSON on one line or, if indent >= 0, with one item or member per line. Replaces bytes that are not UTF-8.
std::string json_text(const JsonValue& value, int indent = -1);

}  // namespace allreplay

extern template class nlohmann::basic_json<nlohmann::ordered_map>;
