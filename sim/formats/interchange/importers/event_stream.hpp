// Reads JSON trace events (Chrome's format) as a stream, so that traces of gigabytes need little memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/formats/interchange/importers/byte_source.hpp"

namespace allreplay {

inline constexpr std::size_t longest_text = std::size_t{16} << 20;  ///< bytes of a string, or a number, of a trace

/// Throws InputError.
[[noreturn]] void refuse_long_text(const std::string& file);

/// Receives the contents of a file in its order. Depth counts the enclosing brackets: 1 is in the outermost object, 3
/// in an event (of its list "traceEvents"), 4 in the event's "args". A file that is only a list of events is reported
/// as if the list were in such an object.
class EventStreamListener {
 public:
  virtual ~EventStreamListener() = default;
  virtual void key(int depth, std::string_view key) = 0;
  /// `text` is a number as written, a string, "null" or "nan"; "" for true and false.
  virtual void value(int depth, std::string_view text) = 0;
  /// `depth` is that of the bracket itself.
  virtual void list_begins(int /*depth*/) {}
  virtual void list_ends(int /*depth*/) {}
  virtual void object_ends(int depth) = 0;
};

/// Throws InputError if the file is not JSON, has brackets deeper than 64, a text longer than `longest_text` or no list
/// of events. `wanted` names the right input in the message: "a PyTorch profiler's trace".
void read_event_stream(ByteSource& source, EventStreamListener& listener, std::string_view wanted);

}  // namespace allreplay
