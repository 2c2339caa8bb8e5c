// The JSON of trace events (Chrome's format), read as a stream: a trace of gigabytes is never held.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/interchange/importers/byte_source.hpp"

namespace allreplay {

inline constexpr std::size_t longest_text = std::size_t{16} << 20;  ///< bytes of a string, or a number, of a trace

/// Throws InputError.
[[noreturn]] void refuse_long_text(const std::string& file);

/// Who hears what such a file says, in its order. Depth counts the brackets around it: 1 is the outermost object, in
/// whose list "traceEvents" the events stand, 3 is an event, 4 its "args"; a list of events alone is heard as if it
/// stood there.
class EventStreamListener {
 public:
  virtual ~EventStreamListener() = default;
  virtual void key(int depth, std::string_view key) = 0;
  /// A number as it stands, a string, "null" or "nan"; "" for true and false.
  virtual void value(int depth, std::string_view text) = 0;
  /// A bracket, which stands at that depth.
  virtual void list_begins(int /*depth*/) {}
  virtual void list_ends(int /*depth*/) {}
  virtual void object_ends(int depth) = 0;
};

/// Throws InputError for what is no JSON, has brackets deeper than 64, a text longer than `longest_text` or no list of
/// events; `wanted` is what would be right: "a PyTorch profiler's trace".
void read_event_stream(ByteSource& source, EventStreamListener& listener, std::string_view wanted);

}  // namespace allreplay
