// Reads the Chrome trace of ByteDance's straggler analyser. A process is a replica; a thread's name has its stage.
#include <array>
#include <charconv>
#include <cstring>
#include <deque>
#include <map>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/formats/interchange/importers/event_stream.hpp"
#include "sim/formats/interchange/timelines/readers.hpp"

namespace allreplay {

namespace {

constexpr std::int64_t threads_of_rank = 5;

// The members of an event, as text; reused for the next event.
struct TraceEvent {
  std::string ph, category, name, pid, tid, ts, dur, thread_name, step, seq, chunk, group, stream, part;
  std::array<std::string*, 14> texts() {
    return {&ph, &category, &name, &pid, &tid, &ts, &dur, &thread_name, &step, &seq, &chunk, &group, &stream, &part};
  }
  void clear() {
    for (std::string* text : texts()) text->clear();
  }
};

// An event as one text, since millions may wait: each member's length, then its characters.
std::string packed(TraceEvent& event) {
  std::string all;
  for (const std::string* text : event.texts()) {
    const auto length = static_cast<std::uint32_t>(text->size());
    all.append(reinterpret_cast<const char*>(&length), sizeof length).append(*text);
  }
  return all;
}

TraceEvent unpacked(std::string_view all) {
  TraceEvent event;
  for (std::string* text : event.texts()) {
    std::uint32_t length = 0;
    std::memcpy(&length, all.data(), sizeof length);
    *text = all.substr(sizeof length, length);
    all.remove_prefix(sizeof length + length);
  }
  return event;
}

// The ranks in a thread's name: "PP rank 1, TP rank 0, …".
struct ThreadPlace {
  std::string stage, tensor_rank;
};

std::string number_behind(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return "";
  text.remove_prefix(at + words.size());
  return std::string(text.substr(0, text.find_first_not_of("0123456789")));
}

// Events of threads that have no name yet are kept until the end.
class OpTraceListener : public EventStreamListener {
 public:
  OpTraceListener(const std::string& file, OpReader& reader) : file_(file), reader_(reader) {}

  void key(int depth, std::string_view key) override {
    if (depth == 1) in_events_ = key == "traceEvents";
    if (depth == 3) {
      in_args_ = key == "args";
      field_ = field(key);
    } else if (depth == 4) {
      field_ = in_args_ ? argument(key) : nullptr;
    }
  }
  void value(int depth, std::string_view text) override {
    if (in_events_ && field_ && depth == (in_args_ ? 4 : 3)) *field_ = text;
  }
  void object_ends(int depth) override {
    if (depth == 2 && in_events_) end_event();
    if (depth == 3) field_ = nullptr;
  }

  /// Call after the last event.
  void take_the_rest() {
    for (const auto& [event, entry] : waiting_) take(unpacked(event), entry);
  }

  std::int64_t other_tensor_ranks() const { return others_; }

 private:
  std::string* field(std::string_view key) {
    if (key == "ph") return &event_.ph;
    if (key == "cat") return &event_.category;
    if (key == "name") return &event_.name;
    if (key == "pid") return &event_.pid;
    if (key == "tid") return &event_.tid;
    if (key == "ts") return &event_.ts;
    if (key == "dur") return &event_.dur;
    return nullptr;
  }

  std::string* argument(std::string_view key) {
    if (key == "name") return &event_.thread_name;
    if (key == "step") return &event_.step;
    if (key == "seq_id") return &event_.seq;
    if (key == "model_chunk") return &event_.chunk;
    if (key == "group") return &event_.group;
    if (key == "stream") return &event_.stream;
    if (key == "part") return &event_.part;
    return nullptr;
  }

  void end_event() {
    if (event_.ph == "M" && event_.name == "thread_name")
      threads_[{event_.pid, event_.tid}] = {number_behind(event_.thread_name, "PP rank "),
                                            number_behind(event_.thread_name, "TP rank ")};
    else if (event_.ph == "X" &&
             event_.category != "ideal") {  // `diagnose --timeline` adds ideal events to the replayed ones
      if (threads_.contains({event_.pid, event_.tid}))
        take(event_, events_);
      else
        waiting_.emplace_back(packed(event_), events_);
    }
    ++events_;
    event_.clear();
  }

  void take(const TraceEvent& event, std::uint32_t entry) {
    const auto thread = threads_.find({event.pid, event.tid});
    if (thread == threads_.end() || thread->second.stage.empty())
      throw InputError({file_, fmt::format("/traceEvents/{}", entry)},
                       fmt::format("its thread {} of process {} has no name with a PP rank", one_line(event.tid, 20),
                                   one_line(event.pid, 20)),
                       "an event thread_name: \"PP rank 0, TP rank 0\"");
    if (const std::string& tensor = thread->second.tensor_rank; !tensor.empty() && tensor != "0") {
      ++others_;
      return;
    }
    std::int64_t tid = 0;
    const auto [end, error] = std::from_chars(event.tid.data(), event.tid.data() + event.tid.size(), tid);
    const std::string rank = error == std::errc() && tid >= 0 ? std::to_string(tid / threads_of_rank) : "";
    reader_.add({.step = event.step,
                 .replica = event.pid,
                 .stage = thread->second.stage,
                 .kind = event.name,
                 .seq = event.seq,
                 .start_us = event.ts,
                 .duration_us = event.dur,
                 .rank = rank,
                 .chunk = event.chunk,
                 .group = event.group,
                 .stream = event.stream,
                 .part = event.part},
                entry);
  }

  const std::string& file_;
  OpReader& reader_;
  std::map<std::pair<std::string, std::string>, ThreadPlace> threads_;  // by process and thread
  std::deque<std::pair<std::string, std::uint32_t>> waiting_;
  std::int64_t others_ = 0;
  TraceEvent event_;
  std::string* field_ = nullptr;
  std::uint32_t events_ = 0;
  bool in_args_ = false, in_events_ = false;
};

}  // namespace

bool is_chrome_trace(std::string_view head) {
  const std::size_t start = head.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && (head[start] == '{' || head[start] == '[');
}

bool is_op_trace(std::string_view head) {
  return is_chrome_trace(head) &&
         (head.find("\"seq_id\"") != std::string_view::npos || head.find("PP rank ") != std::string_view::npos);
}

void read_op_trace(ByteSource& source, OpReader& reader, MeasuredJob& job) {
  OpTraceListener listener(source.file(), reader);
  read_event_stream(source, listener, "a trace of events");
  listener.take_the_rest();
  if (listener.other_tensor_ranks() > 0)
    job.notes.push_back(fmt::format("{}: left out: {} of tensor-parallel ranks other than the first", source.file(),
                                    counted(listener.other_tensor_ranks(), "op")));
}

}  // namespace allreplay
