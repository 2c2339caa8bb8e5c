// The bytes that a codec sends, and how numbers and bits are stored in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace allreplay {

using EncodedPayload = std::vector<std::byte>;

/// Copies `values` into the payload from byte `at` on, in this machine's byte order.
template <class T>
void put(EncodedPayload& payload, std::size_t at, std::span<const T> values) {
  if (!values.empty()) std::memcpy(payload.data() + at, values.data(), values.size_bytes());
}

/// Reads `values.size()` numbers from byte `at` on.
template <class T>
void get(const EncodedPayload& payload, std::size_t at, std::span<T> values) {
  if (!values.empty()) std::memcpy(values.data(), payload.data() + at, values.size_bytes());
}

/// Throws std::logic_error unless the payload has `bytes` bytes, as one of another codec or length has.
void require_size(const EncodedPayload& payload, std::size_t bytes);

/// The bytes that `count` codes of `bits` bits take.
constexpr std::size_t packed_size(std::size_t count, std::size_t bits) { return (count * bits + 7) / 8; }

/// Writes codes of 1 to 16 bits one after another, the lowest bit first.
class BitWriter {
 public:
  BitWriter(EncodedPayload& payload, std::size_t at) : next_(payload.data() + at) {}
  void put(std::uint32_t code, int bits) {
    waiting_ |= code << filled_;
    for (filled_ += bits; filled_ >= 8; filled_ -= 8, waiting_ >>= 8) *next_++ = static_cast<std::byte>(waiting_);
  }
  void finish() {
    if (filled_ > 0) *next_ = static_cast<std::byte>(waiting_);
  }

 private:
  std::byte* next_;
  std::uint32_t waiting_ = 0;
  int filled_ = 0;
};

/// Reads what BitWriter wrote.
class BitReader {
 public:
  BitReader(const EncodedPayload& payload, std::size_t at) : next_(payload.data() + at) {}
  std::uint32_t get(int bits) {
    for (; filled_ < bits; filled_ += 8) waiting_ |= std::to_integer<std::uint32_t>(*next_++) << filled_;
    const std::uint32_t code = waiting_ & ((1u << bits) - 1);
    waiting_ >>= bits;
    filled_ -= bits;
    return code;
  }

 private:
  const std::byte* next_;
  std::uint32_t waiting_ = 0;
  int filled_ = 0;
};

}  // namespace allreplay
