// Builds and writes JSON, and reads back JSON that this program wrote. base/core/json.hpp reads JSON that people wrote.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allreplay {

/// A JSON value. Objects keep the order in which they are filled.
class JsonValue {
 public:
  static JsonValue array();
  static JsonValue object();
  /// REQUIRES: valid JSON, written by this program.
  static JsonValue parse(std::string_view text);

  JsonValue(std::nullptr_t = nullptr);
  template <std::integral Number>
  JsonValue(Number number) : JsonValue() {
    if constexpr (std::same_as<Number, bool>)
      set(number);
    else if constexpr (std::signed_integral<Number>)
      set(std::int64_t{number});
    else
      set(std::uint64_t{number});
  }
  JsonValue(double number);
  JsonValue(std::string text);
  JsonValue(std::string_view text);
  JsonValue(const char* text);
  /// Null if there is no value.
  template <class Value>
  JsonValue(const std::optional<Value>& value) : JsonValue(value ? JsonValue(*value) : JsonValue()) {}
  template <class Item>
  JsonValue(const std::vector<Item>& items) : JsonValue(array()) {
    for (const Item& item : items) push_back(item);
  }
  /// {{"name", value}, …} makes an object, every other list an array. Moves from the values in the list.
  JsonValue(std::initializer_list<JsonValue> list);
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(JsonValue other) noexcept;
  ~JsonValue();

  bool is_array() const;

  /// The member of this name; added as null if it is missing. REQUIRES: an object, or null, which becomes one.
  JsonValue& operator[](std::string_view name);
  /// REQUIRES: an array with more than `index` items.
  JsonValue& operator[](std::size_t index);
  JsonValue& back();
  /// REQUIRES: an array, or null, which becomes one.
  void push_back(JsonValue item);
  /// Sets all members of another object in this one.
  void update(const JsonValue& object);

  // Reading. REQUIRES: the value is of the kind that is read.
  const std::vector<JsonValue>& items() const;
  bool contains(std::string_view name) const;
  const JsonValue& at(std::string_view name) const;
  double number() const;
  const std::string& text() const;

  /// JSON on one line or, if indent >= 0, with one item or member per line. Replaces bytes that are not UTF-8.
  std::string dump(int indent = -1) const;

 private:
  struct State;
  class Writer;
  explicit JsonValue(State state);
  void set(bool value);
  void set(std::int64_t value);
  void set(std::uint64_t value);

  mutable std::unique_ptr<State> state_;  // null: JSON's null. Mutable, to move out of std::initializer_list
};

/// True if the text is valid JSON.
bool is_json(std::string_view text);

}  // namespace allreplay
