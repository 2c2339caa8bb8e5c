#include "sim/formats/interchange/importers/event_stream.hpp"

#include <cstdlib>
#include <new>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <fmt/format.h>

#include "sim/base/core/error.hpp"

namespace allreplay {

namespace {

// RapidJSON's input stream, which reads a source in pieces. The end is NUL, which JSON does not contain.
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
  // Functions of output streams, which RapidJSON requires but does not call.
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

// RapidJSON's memory for the string that it is reading. Throws InputError if the string is longer than `longest_text`.
class TextMemory {
 public:
  [[maybe_unused]] static constexpr bool kNeedFree = true;
  explicit TextMemory(std::string file = "") : file_(std::move(file)) {}
  void* Malloc(std::size_t size) { return Realloc(nullptr, 0, size); }
  void* Realloc(void* old, std::size_t, std::size_t size) {
    if (size > 2 * longest_text) refuse_long_text(file_);  // the buffer grows by half
    void* memory = std::realloc(old, size);
    if (memory == nullptr && size > 0) throw std::bad_alloc();
    return memory;
  }
  static void Free(void* memory) { std::free(memory); }

 private:
  std::string file_;
};

constexpr int deepest_bracket = 64;  // a trace has 6

// Handles RapidJSON's events. Numbers are passed as text (kParseNumbersAsStringsFlag), except NaN and infinities.
class EventStreamHandler {
 public:
  explicit EventStreamHandler(EventStreamListener& listener) : listener_(listener) {}

  bool Null() { return value("null"); }
  bool Bool(bool) { return value(""); }
  bool Int(int) { return true; }
  bool Uint(unsigned) { return true; }
  bool Int64(std::int64_t) { return true; }
  bool Uint64(std::uint64_t) { return true; }
  bool Double(double) { return value("nan"); }
  bool RawNumber(const char* text, rapidjson::SizeType length, bool) { return value({text, length}); }
  bool String(const char* text, rapidjson::SizeType length, bool) { return value({text, length}); }

  bool Key(const char* text, rapidjson::SizeType length, bool) { return key({text, length}); }
  bool StartObject() { return ++depth_ <= deepest_bracket; }
  bool EndObject(rapidjson::SizeType) {
    listener_.object_ends(--depth_);
    return true;
  }
  bool StartArray() {
    if (depth_ == 0) {  // only a list of events, as PyTorch writes without Kineto
      depth_ = 1;
      key(events_key);
    }
    found_ = found_ || (depth_ == 1 && in_events_);
    listener_.list_begins(depth_);
    return ++depth_ <= deepest_bracket;
  }
  bool EndArray(rapidjson::SizeType) {
    listener_.list_ends(--depth_);
    return true;
  }

  bool found() const { return found_; }

 private:
  static constexpr std::string_view events_key = "traceEvents";

  bool key(std::string_view key) {
    if (depth_ == 1) in_events_ = key == events_key;
    listener_.key(depth_, key);
    return true;
  }

  bool value(std::string_view text) {
    listener_.value(depth_, text);
    return true;
  }

  EventStreamListener& listener_;
  int depth_ = 0;
  bool in_events_ = false, found_ = false;
};

}  // namespace

void refuse_long_text(const std::string& file) {
  throw InputError({file, ""}, fmt::format("a text has more than {} MiB", longest_text >> 20), "a trace of events");
}

void read_event_stream(ByteSource& source, EventStreamListener& listener, std::string_view wanted) {
  EventStreamHandler handler(listener);
  JsonInput input(source);
  TextMemory memory(source.file());
  rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, TextMemory> reader(&memory);
  constexpr unsigned flags = rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseNanAndInfFlag;
  const rapidjson::ParseResult result = reader.Parse<flags>(input, handler);
  if (result.Code() == rapidjson::kParseErrorTermination)
    throw InputError({source.file(), fmt::format("byte {}", result.Offset())}, "brackets are nested too deeply",
                     std::string(wanted));
  if (!result)
    throw InputError({source.file(), fmt::format("byte {}", result.Offset())},
                     fmt::format("not valid JSON: {}", rapidjson::GetParseError_En(result.Code())),
                     "a complete trace: was it cut off?");
  if (!handler.found()) throw InputError({source.file(), ""}, "has no list traceEvents", std::string(wanted));
}

}  // namespace allreplay
