// A value that a user gave, with its place.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "sim/base/core/error.hpp"

namespace allreplay {

/// Reads like its value. Assigning a new value keeps the place.
template <class Value>
struct Given {
  template <class Other>
  static constexpr bool is_value =
      std::convertible_to<Other, Value> && !std::same_as<std::remove_cvref_t<Other>, Given>;

  Value value{};
  SourceLocation place{};  ///< for errors

  Given() = default;
  template <class Other>
  requires is_value<Other> Given(Other&& given, SourceLocation where = {})
      : value(std::forward<Other>(given)), place(std::move(where)) {}
  template <class Other>
  requires is_value<Other> Given& operator=(Other&& given) { return value = std::forward<Other>(given), *this; }

  operator const Value&() const { return value; }
  /// Numbers compare as they convert.
  template <class Other>
  requires(!std::is_arithmetic_v<Value> && !std::same_as<Other, Given> &&
           std::constructible_from<Value, const Other&>) friend bool
  operator==(const Given& one, const Other& other) {
    return one.value == other;
  }
  bool empty() const requires requires(const Value& one) { one.empty(); }
  { return value.empty(); }
};

}  // namespace allreplay
