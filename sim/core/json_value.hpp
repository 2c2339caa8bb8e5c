// Writing JSON: values that reports build and print, and read again. core/json.hpp reads what people wrote.
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
  /// REQUIRES: JSON, written by us; what people wrote is read with core/json.hpp.
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
  /// Null where there is none.
  template <class Value>
  JsonValue(const std::optional<Value>& value) : JsonValue(value ? JsonValue(*value) : JsonValue()) {}
  template <class Item>
  JsonValue(const std::vector<Item>& items) : JsonValue(array()) {
    for (const Item& item : items) push_back(item);
  }
  /// {{"name", value}, …} is an object, every other list an array. What stands in the braces is moved.
  JsonValue(std::initializer_list<JsonValue> list);
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(JsonValue other) noexcept;
  ~JsonValue();

  bool is_array() const;

  /// The member of this name, null where there was none. REQUIRES: an object, or null, which becomes one.
  JsonValue& operator[](std::string_view name);
  /// REQUIRES: an array that is longer.
  JsonValue& operator[](std::size_t index);
  JsonValue& back();
  /// REQUIRES: an array, or null, which becomes one.
  void push_back(JsonValue item);
  /// Takes all members of another object.
  void update(const JsonValue& object);

  // What was built. REQUIRES, of each: it is that.
  const std::vector<JsonValue>& items() const;
  bool contains(std::string_view name) const;
  const JsonValue& at(std::string_view name) const;
  double number() const;
  const std::string& text() const;

  /// On one line, or each item and member on its own. What is no UTF-8 is replaced.
  std::string dump(int indent = -1) const;

 private:
  struct State;  // none: null
  class Writer;
  explicit JsonValue(State state);
  void set(bool value);
  void set(std::int64_t value);
  void set(std::uint64_t value);

  mutable std::unique_ptr<State> state_;  // mutable: std::initializer_list hands out what it holds as constants
};

/// Whether a text is JSON.
bool is_json(std::string_view text);

}  // namespace allreplay
