// RapidJSON's input: the pieces of a source, so that a trace of gigabytes is read as a stream.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/core/error.hpp"
#include "sim/interchange/importers/byte_source.hpp"

namespace allreplay {

/// NUL, which no JSON contains, is the end.
class JsonInput {
 public:
  using Ch = char;
  explicit JsonInput(ByteSource& source) : source_(source) { refill(); }
  Ch Peek() const { return at_ == end_ ? '\0' : *at_; }
  Ch Take() {
    if (at_ == end_) return '\0';
    const Ch c = *at_++;
    if (at_ == end_) refill();
    return c;
  }
  std::size_t Tell() const { return before_ + static_cast<std::size_t>(at_ - begin_); }
  // Of output streams; RapidJSON asks for them and does not call them.
  Ch* PutBegin() { return nullptr; }
  void Put(Ch) {}
  void Flush() {}
  std::size_t PutEnd(Ch*) { return 0; }

 private:
  void refill() {
    before_ += static_cast<std::size_t>(end_ - begin_);
    const std::string_view piece = source_.next();
    begin_ = at_ = piece.data();
    end_ = begin_ + piece.size();
  }

  ByteSource& source_;
  const char *begin_ = nullptr, *at_ = nullptr, *end_ = nullptr;
  std::size_t before_ = 0;
};

inline constexpr std::size_t longest_text = std::size_t{16} << 20;  ///< bytes of a string, or a number, of a trace

[[noreturn]] inline void refuse_long_text(const std::string& file) {
  throw InputError({file, ""}, fmt::format("a text has more than {} MiB", longest_text >> 20), "a trace of events");
}

/// Where RapidJSON keeps the string that it is reading, and no longer one than `longest_text`: however long it is in
/// the file. Throws InputError.
class TextMemory {
 public:
  static constexpr bool kNeedFree = true;
  explicit TextMemory(std::string file = "") : file_(std::move(file)) {}
  void* Malloc(std::size_t size) { return Realloc(nullptr, 0, size); }
  void* Realloc(void* old, std::size_t, std::size_t size) {
    if (size > 2 * longest_text) refuse_long_text(file_);  // it grows by half
    void* memory = std::realloc(old, size);
    if (memory == nullptr && size > 0) throw std::bad_alloc();
    return memory;
  }
  static void Free(void* memory) { std::free(memory); }

 private:
  std::string file_;
};

}  // namespace allreplay
