#include "sim/formats/interchange/importers/kineto_events.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "sim/base/core/error.hpp"
#include "sim/base/core/text.hpp"
#include "sim/formats/interchange/importers/event_stream.hpp"

namespace allreplay {

std::uint32_t Strings::number(const std::string& text) {
  const auto [entry, fresh] = numbers_.emplace(text, static_cast<std::uint32_t>(texts_.size()));
  if (fresh) {
    texts_.push_back(&entry->first);
    bytes_ += text.size();
  }
  return entry->second;
}

namespace {

constexpr std::int64_t longest_ns = 3'600'000'000'000;      // an hour
constexpr std::size_t longest_word = 64;                    // for names of collectives and types
constexpr std::size_t most_names = std::size_t{256} << 20;  // bytes, all of which are kept in memory
constexpr std::size_t most_kept = 20'000'000;               // operators, kernels and launches
constexpr std::int64_t last_us = 9'000'000'000'000'000;     // year 2255, if counted from 1970

// Parses "1623142623460111.125" microseconds into nanoseconds exactly: a double would lose the last digits.
std::optional<std::int64_t> nanoseconds(const std::string& text) {
  std::int64_t whole = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, whole);
  if (error == std::errc() && whole >= 0 && whole <= last_us && text[0] != '-') {
    std::int64_t fraction = 0;
    if (at != end && *at == '.') {
      ++at;
      for (std::int64_t digit = 100; at != end && *at >= '0' && *at <= '9'; ++at, digit /= 10)
        fraction += digit * (*at - '0');
    }
    if (at == end) return 1000 * whole + fraction;
  }
  double value = 0;  // with an exponent
  const auto [last, wrong] = std::from_chars(text.data(), end, value);
  if (wrong != std::errc() || last != end || !(value >= 0 && value <= static_cast<double>(last_us)))
    return std::nullopt;
  return std::llround(value * 1000);
}

template <class Integer>
Integer integer_or(const std::string& text, Integer otherwise) {
  Integer value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && at == text.data() + text.size() ? value : otherwise;
}

// The members of an event, as text; reused for the next event.
struct Event {
  std::string ph, category, name, pid, tid, ts, dur;
  std::string external, correlation, sequence, forward_thread, device, dims, type, grid;
  std::string collective, message_type, in, out, group, group_name, ranks, stream;
  void clear() {
    for (std::string* text :
         {&ph,       &category,       &name,       &pid,   &tid,   &ts,   &dur,        &external,     &correlation,
          &sequence, &forward_thread, &device,     &dims,  &type,  &grid, &collective, &message_type, &in,
          &out,      &group,          &group_name, &ranks, &stream})
      text->clear();
  }
};

// FNV-1a.
std::uint32_t hash(std::string_view text, std::uint32_t from = 2166136261U) {
  for (const char c : text) from = (from ^ static_cast<unsigned char>(c)) * 16777619U;
  return from;
}

// Returns "0,1" for "[0, 1]".
std::string rank_list(const std::string& text) {
  std::string list;
  for (const char c : text)
    if (c == ',' || c == '.' || (c >= '0' && c <= '9')) list += c;
  return list.starts_with(',') ? list.substr(1) : list;
}

class KinetoListener : public EventStreamListener {
 public:
  KinetoListener(const std::string& file, KinetoTrace& trace) : file_(file), trace_(trace) { trace_.dims.number(""); }

  void list_begins(int depth) override {
    if (reads_dims() && depth == 6) extend(event_.dims, "(");
  }
  void list_ends(int depth) override {
    if (reads_dims() && depth == 5) extend(event_.dims, ";");
    if (reads_dims() && depth == 6) extend(event_.dims, ")");
  }
  void object_ends(int depth) override {
    if (depth == 2 && section_ == Section::Events) end_event();
    if (depth == 2 && section_ == Section::Devices) {
      trace_.devices[integer_or<std::int64_t>(event_.device, 0)] = event_.name;
      event_.clear();
    }
    if (depth == 3) field_ = &ignored_;
  }

  void key(int depth, std::string_view key) override {
    if (depth == 1)
      section_ = key == "traceEvents"        ? Section::Events
                 : key == "deviceProperties" ? Section::Devices
                 : key == "distributedInfo"  ? Section::Job
                                             : Section::Other;
    else if (depth == 2 && section_ == Section::Job)
      job_ = key == "rank" ? &trace_.rank : key == "world_size" ? &trace_.workers : nullptr;
    else if (depth == 3)
      field_ = &field(key);
    else if (depth == 4)
      field_ = in_args_ ? &argument(key) : &ignored_;
  }

  void value(int depth, std::string_view text) override {
    if (section_ == Section::Job) {
      if (depth == 2 && job_) *job_ = integer_or<std::int64_t>(std::string(text), -1);
      return;
    }
    if (section_ == Section::Other || field_ == &ignored_) return;
    if (reads_dims()) {
      if (depth < 6) return;
      const char last = event_.dims.empty() ? ';' : event_.dims.back();
      if (last != ';' && last != '(' && last != ')') event_.dims += 'x';
      extend(event_.dims, text);
    } else if (field_ == &event_.type) {
      if (depth == 5 && event_.type.empty()) event_.type = text;
    } else if (field_ == &event_.grid) {
      if (depth == 5) extend(event_.grid.append(","), text);
    } else if (field_ == &event_.ranks && depth == 5) {
      extend(event_.ranks.append(","), text);  // some versions write a list instead of a text
    } else if (depth == (in_args_ ? 4 : 3)) {
      *field_ = text;
    }
  }

 private:
  enum class Section : std::uint8_t { Other, Events, Devices, Job };

  bool reads_dims() const { return field_ == &event_.dims && in_args_; }

  std::string& field(std::string_view key) {
    in_args_ = key == "args";
    if (section_ == Section::Devices) return key == "name" ? event_.name : key == "id" ? event_.device : ignored_;
    if (section_ != Section::Events) return ignored_;
    if (key == "name") return event_.name;
    if (key == "cat") return event_.category;
    if (key == "ph") return event_.ph;
    if (key == "ts") return event_.ts;
    if (key == "dur") return event_.dur;
    if (key == "tid") return event_.tid;
    if (key == "pid") return event_.pid;
    return ignored_;
  }

  std::string& argument(std::string_view key) {
    if (key == "External id" || key == "external id") return event_.external;
    if (key == "correlation") return event_.correlation;
    if (key == "Sequence number") return event_.sequence;
    if (key == "Fwd thread id") return event_.forward_thread;
    if (key == "Input Dims" || key == "Input dims") return event_.dims;
    if (key == "Input type") return event_.type;
    if (key == "device") return event_.device;
    if (key == "grid" || key == "block") return event_.grid;
    if (key == "Collective name") return event_.collective;
    if (key == "dtype") return event_.message_type;
    if (key == "In msg nelems") return event_.in;
    if (key == "Out msg nelems") return event_.out;
    if (key == "Group size") return event_.group;
    if (key == "Process Group Name") return event_.group_name;
    if (key == "Process Group Ranks") return event_.ranks;
    if (key == "stream") return event_.stream;
    return ignored_;
  }

  // Appends a value to a list in one text, which has the length limit of a single value.
  void extend(std::string& text, std::string_view value) const {
    if (text.size() + value.size() > longest_text) refuse_long_text(file_);
    text += value;
  }

  std::int64_t time(const std::string& text, std::string_view key, std::int64_t most) const {
    const auto value = nanoseconds(text);
    if (!value || *value > most)
      throw InputError({file_, fmt::format("/traceEvents/{}/{}", trace_.events, key)},
                       fmt::format("{} us is not a measured time", text.empty() ? "''" : text),
                       key == "dur" ? "0 to 3.6e9 us (an hour)" : "microseconds from 0");
    return *value;
  }

  std::uint16_t thread() {
    const std::uint32_t number = trace_.threads.number(event_.tid);
    if (number > std::numeric_limits<std::uint16_t>::max())
      throw InputError({file_, ""}, "has more than 65536 threads", "a trace of one process");
    return static_cast<std::uint16_t>(number);
  }

  void end_event() {
    const std::string& category = event_.category;
    const bool is_operator =
        category == "cpu_op" || category == "Operator" || (category.empty() && event_.pid == "CPU functions");
    const bool is_kernel = category == "kernel" || category == "Kernel" || category == "gpu_memcpy" ||
                           category == "Memcpy" || category == "gpu_memset" || category == "Memset";
    if (event_.ph == "X") {
      if (is_operator || category == "user_annotation")
        end_operator();
      else if (category == "python_function")
        end_python();
      else if (is_kernel)
        end_kernel();
      else if (category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime")
        end_launch();
    } else if (event_.ph != "E") {  // the end of a "B", which was counted
      trace_.partial_kernels += is_kernel;
      trace_.partial_operators += is_operator;
    }
    event_.clear();
    ++trace_.events;
    if (trace_.names.bytes() + trace_.dims.bytes() + trace_.threads.bytes() > most_names)
      throw InputError({file_, fmt::format("/traceEvents/{}", trace_.events - 1)},
                       fmt::format("is after more than {} MiB of different names", most_names >> 20),
                       "a PyTorch profiler's trace");
    if (trace_.spans.size() + trace_.kernels.size() + trace_.launches.size() > most_kept)
      throw InputError({file_, fmt::format("/traceEvents/{}", trace_.events - 1)},
                       fmt::format("is after {} operators, kernels and launches", most_kept), "a trace of fewer steps");
  }

  KinetoSpan span(std::int64_t longest) {
    KinetoSpan one;
    one.start = time(event_.ts, "ts", std::numeric_limits<std::int64_t>::max());
    one.end = one.start + time(event_.dur, "dur", longest);
    one.thread = thread();
    one.name = trace_.names.number(event_.name);
    return one;
  }

  // A record_function has no "::" in its name and creates no autograd node; a custom autograd function creates one.
  void end_operator() {
    KinetoSpan one = span(longest_ns);
    one.sequence = integer_or<std::int32_t>(event_.sequence, -1);
    one.backward = one.sequence >= 0 && integer_or<std::uint64_t>(event_.forward_thread, 0) > 0;
    if (event_.category == "user_annotation" ||
        (one.sequence < 0 && event_.name.find("::") == std::string::npos && event_.dims.empty()))
      one.kind = KinetoSpan::Kind::Annotation;
    one.external = integer_or<std::uint32_t>(event_.external, 0);
    one.dims = trace_.dims.number(event_.dims);
    one.element = KinetoSpan::Element::Other;
    for (const ElementRow& row : element_rows)
      if (event_.type == row.input) one.element = row.value;
    if (one.element == KinetoSpan::Element::Other && event_.name == accumulation_name && trace_.unknown_type.empty())
      trace_.unknown_type = event_.type.substr(0, longest_word);
    trace_.spans.push_back(one);
  }

  void end_python() {
    if (!event_.name.starts_with("nn.Module: ")) return;
    event_.name.erase(0, 11);
    KinetoSpan one = span(longest_ns);
    one.kind = KinetoSpan::Kind::Module;
    trace_.spans.push_back(one);
  }

  void end_kernel() {
    KinetoKernel one;
    one.start = time(event_.ts, "ts", std::numeric_limits<std::int64_t>::max());
    one.duration = time(event_.dur, "dur", longest_ns);
    one.external = integer_or<std::uint32_t>(event_.external, 0);
    one.correlation = integer_or<std::uint32_t>(event_.correlation, 0);
    one.communication = event_.name.starts_with("nccl");
    if (!event_.grid.empty()) one.work = hash(event_.grid, hash(event_.name));
    if (one.communication) one.carries = carried_by(event_.collective.empty() ? event_.name : event_.collective);
    one.stream = integer_or<std::uint16_t>(event_.stream.empty() ? event_.tid : event_.stream, 0);
    if (one.communication && !event_.collective.empty())
      trace_.messages[trace_.kernels.size()] = {
          event_.collective.substr(0, longest_word),   event_.message_type.substr(0, longest_word),
          integer_or<std::int64_t>(event_.in, -1),     integer_or<std::int64_t>(event_.out, -1),
          integer_or<std::int64_t>(event_.group, -1),  trace_.names.number(event_.group_name),
          trace_.names.number(rank_list(event_.ranks))};
    ++trace_.used_by[integer_or<std::int64_t>(event_.device, 0)];
    trace_.kernels.push_back(one);
  }

  void end_launch() {
    KinetoLaunch one;
    one.start = time(event_.ts, "ts", std::numeric_limits<std::int64_t>::max());
    one.correlation = integer_or<std::uint32_t>(event_.correlation, 0);
    one.thread = thread();
    if (one.correlation != 0) trace_.launches.push_back(one);
  }

  const std::string& file_;
  KinetoTrace& trace_;
  Event event_;
  std::string ignored_;
  std::string* field_ = &ignored_;
  Section section_ = Section::Other;
  std::int64_t* job_ = nullptr;
  bool in_args_ = false;
};

}  // namespace

const ElementRow& row_of(KinetoSpan::Element element) {
  return *std::find_if(std::begin(element_rows), std::end(element_rows) - 1,
                       [&](const ElementRow& row) { return row.value == element; });
}

KinetoKernel::Carries carried_by(std::string_view name) {
  std::string letters;
  for (const char c : lower_case(name))
    if (std::isalpha(static_cast<unsigned char>(c))) letters += c;
  if (letters.find("allgather") != letters.npos) return KinetoKernel::Carries::Gather;
  if (letters.find("reducescatter") != letters.npos) return KinetoKernel::Carries::ReduceScatter;
  if (letters.find("allreduce") != letters.npos) return KinetoKernel::Carries::AllReduce;
  return KinetoKernel::Carries::Other;
}

KinetoTrace read_kineto_events(ByteSource& source) {
  KinetoTrace trace{.file = source.file()};
  KinetoListener listener(source.file(), trace);
  read_event_stream(source, listener, "a PyTorch profiler's trace");
  return trace;
}

}  // namespace allreplay
