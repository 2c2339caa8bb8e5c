// Packs numbers and texts into messages between processes of the same program, in their memory representation.
#pragma once

#include <concepts>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace allreplay {

/// A value, const or not, of a type whose members are packed and unpacked: a function
/// `members(Of<Type> auto& value, auto& pass)` calls `pass.all()` with them, for both ways.
template <class Value, class Type>
concept Of = std::same_as<std::remove_const_t<Value>, Type>;

class Packer {
 public:
  /// Packs texts, vectors, pairs, optional values, variants, types with members(), and all else as it is in memory.
  template <class... T>
  Packer& all(const T&... values) {
    (one(values), ...);
    return *this;
  }
  template <class T>
  Packer& add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  Packer& add_text(std::string_view text) {
    add(text.size());
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <class T>
  void one(const T& value) {
    if constexpr (std::is_trivially_copyable_v<T>)
      add(value);
    else
      members(value, *this);
  }
  void one(const std::string& text) { add_text(text); }
  template <class T>
  void one(const std::vector<T>& values) {
    add(values.size());
    for (const T& value : values) one(value);
  }
  template <class A, class B>
  void one(const std::pair<A, B>& pair) {
    all(pair.first, pair.second);
  }
  template <class T>
  void one(const std::optional<T>& value) {
    add(value.has_value());
    if (value) one(*value);
  }
  template <class... T>
  void one(const std::variant<T...>& value) {
    add(value.index());
    std::visit([&](const auto& held) { one(held); }, value);
  }

  std::string bytes_;
};

/// Unpacks the values that a Packer added, in the same order.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : left_(bytes) {}

  /// Unpacks values as Packer::all() packed them.
  template <class... T>
  void all(T&... values) {
    (one(values), ...);
  }

  template <class T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, piece(sizeof value).data(), sizeof value);
    return value;
  }
  std::string take_text() { return std::string(piece(take<std::size_t>())); }
  bool done() const { return left_.empty(); }

 private:
  std::string_view piece(std::size_t length) {
    if (length > left_.size()) throw std::runtime_error("a message between processes is cut");
    const std::string_view piece = left_.substr(0, length);
    left_.remove_prefix(length);
    return piece;
  }

  template <class T>
  void one(T& value) {
    if constexpr (std::is_trivially_copyable_v<T>)
      value = take<T>();
    else
      members(value, *this);
  }
  void one(std::string& text) { text = take_text(); }
  template <class T>
  void one(std::vector<T>& values) {
    values.resize(take<std::size_t>());
    for (T& value : values) one(value);
  }
  template <class A, class B>
  void one(std::pair<A, B>& pair) {
    all(pair.first, pair.second);
  }
  template <class T>
  void one(std::optional<T>& value) {
    value.reset();
    if (take<bool>()) one(value.emplace());
  }
  template <class... T>
  void one(std::variant<T...>& value) {
    const auto kind = take<std::size_t>();
    std::size_t next = 0;
    const auto take_if_kind = [&]<class Held>(Held held) {
      if (next++ == kind) one(value.template emplace<Held>(std::move(held)));
    };
    (take_if_kind(T()), ...);
  }

  std::string_view left_;
};

}  // namespace allreplay
