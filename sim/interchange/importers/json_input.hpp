// RapidJSON's input: the pieces of a source, so that a trace of gigabytes is read as a stream.
#pragma once

#include <cstddef>
#include <string_view>

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

}  // namespace allreplay
