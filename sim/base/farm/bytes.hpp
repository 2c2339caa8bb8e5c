// Packs numbers and texts into messages between processes of the same program, in their memory representation.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace allreplay {

class Packer {
 public:
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
  std::string bytes_;
};

/// Unpacks the values that a Packer added, in the same order.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : left_(bytes) {}

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

  std::string_view left_;
};

}  // namespace allreplay
