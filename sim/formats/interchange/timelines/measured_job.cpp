#include "sim/formats/interchange/timelines/measured_job.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/formats/interchange/timelines/readers.hpp"

namespace allreplay {

namespace {

constexpr std::int64_t last_op_us = 9'000'000'000'000'000;  // year 2255, if counted from 1970
constexpr std::int64_t longest_op_us = 86'400'000'000;      // a day
constexpr std::int64_t least_op_us = -10'000;               // the limit of the published analyser (docs/diagnosis.md)
constexpr std::int64_t furthest_us =
    4'000'000'000'000;  // from the first start, both ways; simulated time is limited to 106 days
constexpr std::uint32_t most_places = 10'000'000;
constexpr std::size_t most_ops = 10'000'000;

// Whole microseconds, and the remaining picoseconds.
struct Microseconds {
  std::int64_t whole = 0, picoseconds = 0;
};

// Parses "1623142623460111.125" exactly: a double would lose the last digits.
std::optional<Microseconds> microseconds(std::string_view text) {
  Microseconds result;
  const bool negative = text.starts_with('-');
  const char* at = text.data() + (negative ? 1 : 0);
  const char* const end = text.data() + text.size();
  if (at == end || *at < '0' || *at > '9') return std::nullopt;
  auto [behind, error] = std::from_chars(at, end, result.whole);
  if (error != std::errc() || result.whole > last_op_us) return std::nullopt;
  if (behind != end && *behind == '.') {
    ++behind;
    for (std::int64_t digit = 100'000; behind != end && *behind >= '0' && *behind <= '9'; ++behind, digit /= 10)
      result.picoseconds += digit * (*behind - '0');
  }
  if (behind != end) {  // with an exponent
    double value = 0;
    const auto [last, wrong] = std::from_chars(at, end, value);
    if (wrong != std::errc() || last != end || !(value <= static_cast<double>(last_op_us))) return std::nullopt;
    result.whole = static_cast<std::int64_t>(std::floor(value));
    result.picoseconds = std::llround((value - std::floor(value)) * 1e6);
  }
  if (negative) result = {-result.whole, -result.picoseconds};
  return result;
}

std::optional<std::int64_t> step_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || last != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// The analyser writes a negative chunk if the model has only one.
bool is_below_0(std::string_view text) {
  return text.size() > 1 && text[0] == '-' && text.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

// `place` is a function, called only for errors: there are millions of ops.
template <class Place>
std::int64_t integer(std::string_view text, std::int64_t most, std::string_view what, const Place& place) {
  std::int64_t value = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = error != std::errc::invalid_argument && last == text.data() + text.size();
  if (!number || error != std::errc() || value < 0 || value > most)
    throw InputError(
        place(),
        fmt::format("the {} '{}' is {}", what, one_line(text, 40), number ? "out of range" : "not a whole number"),
        fmt::format("a whole number, 0 to {}", most));
  return value;
}

// Adds a note on ops that end before they start, since a clock was set back. They are kept, as in the analyser.
void note_negative_ops(MeasuredJob& job) {
  Time shortest{0};
  std::int64_t count = 0;
  for (const MeasuredOp& op : job.ops)
    if (op.duration < Time{0}) {
      ++count;
      shortest = std::min(shortest, op.duration);
    }
  if (count == 0) return;
  job.notes.push_back(fmt::format("{} of {} end before they start, by at most {}: counted as they stand", count,
                                  counted(std::ssize(job.ops), "op"), format_duration(to_seconds(Time{0} - shortest))));
}

}  // namespace

SourceLocation MeasuredJob::place(const MeasuredOp& op) const {
  if (op.entry == no_entry) return {files[op.file], ""};
  return {files[op.file], fmt::format(fmt::runtime(lines ? "line {}" : "/traceEvents/{}"), op.entry)};
}

StepChoice::StepChoice(std::string_view text, const SourceLocation& place) {
  if (text.empty()) return;
  for (const std::string_view range : split(text, ",")) {
    constexpr std::string_view right = "numbers from 0 and ranges of them, such as 16-30,33-60";
    const std::size_t dash = range.find('-');
    const auto first = step_number(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : step_number(range.substr(dash + 1));
    if (!first || !last)
      throw InputError(place, fmt::format("'{}' is not a step or a range of steps", one_line(range, 40)), right);
    if (*last < *first) throw InputError(place, fmt::format("'{}' ends before it starts", range), right);
    ranges_.emplace_back(*first, *last);
  }
}

bool StepChoice::takes(std::int64_t step) const {
  return ranges_.empty() || std::any_of(ranges_.begin(), ranges_.end(), [step](const auto& range) {
           return range.first <= step && step <= range.second;
         });
}

std::vector<std::string> StepChoice::missed(std::span<const std::int64_t> found) const {
  std::vector<std::string> notes;
  for (const auto& [first, last] : ranges_) {
    const auto count = std::count_if(found.begin(), found.end(),
                                     [first = first, last = last](auto step) { return first <= step && step <= last; });
    if (count > last - first) continue;
    notes.push_back(first == last ? fmt::format("--steps: there is no step {}", first)
                                  : fmt::format("--steps: of {}-{} there {} {}", first, last, count == 1 ? "is" : "are",
                                                count == 0 ? "no steps" : counted(count, "step")));
  }
  return notes;
}

void OpReader::add(const Words& words, std::uint32_t entry) {
  MeasuredOp op;
  op.entry = entry;
  op.file = static_cast<std::uint16_t>(job_.files.size() - 1);
  const auto place = [&] { return job_.place(op); };
  const auto whole = [&](std::string_view text, auto most, std::string_view what) {
    return static_cast<decltype(most)>(integer(text, static_cast<std::int64_t>(most), what, place));
  };
  op.step = whole(words.step, std::numeric_limits<std::int64_t>::max(), "step");
  if (!steps_.takes(op.step)) {
    least_left_out_ = std::min(op.step, least_left_out_.value_or(op.step));
    most_left_out_ = std::max(op.step, most_left_out_.value_or(op.step));
    return;
  }
  op.replica = whole(words.replica, most_places, "replica");
  op.stage = whole(words.stage, most_places, "stage");
  const auto* kind = row_named(op_kinds, words.kind);
  if (!kind) find_by_name(op_kinds, words.kind, place(), "unknown kind of op '{}'");  // throws
  op.kind = kind->value;
  op.seq = whole(words.seq, std::numeric_limits<std::uint32_t>::max(), "seq");
  if (!words.chunk.empty() && !is_below_0(words.chunk))
    op.chunk = whole(words.chunk, std::numeric_limits<std::int32_t>::max(), "chunk");
  if (is_sharded_kind(op.kind) && !words.group.empty()) op.group = job_.group(words.group);
  if (!words.stream.empty()) op.stream = whole(words.stream, std::numeric_limits<std::uint16_t>::max(), "stream");
  if (!words.part.empty()) op.part = whole(words.part, std::numeric_limits<std::uint16_t>::max(), "part");
  const auto start = microseconds(words.start_us);
  if (!start)
    throw InputError(place(), fmt::format("the start '{}' is not a number", one_line(words.start_us, 40)),
                     "microseconds");
  if (!origin_us_) origin_us_ = start->whole;
  if (std::abs(start->whole - *origin_us_) > furthest_us)
    throw InputError(place(), fmt::format("the start {} is months from that of the first op", words.start_us),
                     "the starts of one job, from one clock");
  op.start = Time((start->whole - *origin_us_) * 1'000'000 + start->picoseconds);
  const auto duration = microseconds(words.duration_us);
  const auto refuse = [&](std::string_view what) {
    throw InputError(place(), fmt::format("the duration '{}' is {}", one_line(words.duration_us, 40), what),
                     "microseconds, -10000 to 8.64e10 (a day)");
  };
  if (!duration) refuse("not a number");
  if (duration->whole < least_op_us || (duration->whole == least_op_us && duration->picoseconds < 0))
    refuse("more than 10 ms below 0");
  if (duration->whole > longest_op_us) refuse("longer than a day");
  op.duration = Time(duration->whole * 1'000'000 + duration->picoseconds);
  if (!words.rank.empty()) {
    const auto rank = whole(words.rank, std::numeric_limits<std::int64_t>::max(), "rank");
    const auto known = job_.ranks.emplace(WorkerPlace{op.replica, op.stage}, rank).first;
    if (job_.lines && known->second != rank)
      throw InputError(place(),
                       fmt::format("the rank of replica {}, stage {} is {} here, but was {} before", op.replica,
                                   op.stage, rank, known->second),
                       "one rank for each worker");
  }
  if (job_.ops.size() == most_ops)
    throw InputError(place(), fmt::format("is after {} ops", most_ops), "fewer steps, such as --steps chooses");
  job_.ops.push_back(op);
}

void OpReader::require_ops(const std::string& file) const {
  if (!job_.ops.empty()) return;
  if (least_left_out_) throw no_such_steps_error(file, *least_left_out_, *most_left_out_);
  throw InputError({file, ""}, "has no op", "a row or an event for each op");
}

std::uint32_t MeasuredJob::group(std::string_view name) {
  const auto known = group_numbers.find(name);
  if (known != group_numbers.end()) return known->second;
  groups.emplace_back(name);
  return group_numbers.emplace(name, static_cast<std::uint32_t>(groups.size() - 1)).first->second;
}

InputError no_such_steps_error(const std::string& file, std::int64_t first, std::int64_t last) {
  return {
      {file, ""},
      "has none of these steps",
      first == last ? fmt::format("it has step {}", first) : fmt::format("its steps are from {} to {}", first, last)};
}

namespace {

// Throws InputError unless both files are CSVs of ops or both are traces.
void require_one_format(const std::string& name, bool table, const std::string& first, bool first_table) {
  const auto kind = [](bool is_table) { return is_table ? "a CSV of ops" : "a trace"; };
  if (table != first_table)
    throw InputError({name, ""}, fmt::format("is {}, but {} is {}", kind(table), first, kind(first_table)),
                     "files of one format");
}

}  // namespace

MeasuredJob read_measured_job(const Files& files, std::span<const std::string> names, const StepChoice& steps) {
  std::set<std::string> known;
  for (const std::string& name : names)
    if (const std::string file = files.identity(name); !file.empty() && !known.insert(file).second)
      throw InputError({name, ""}, "is given twice", "each file of the job once");
  MeasuredJob job;
  OpReader reader(job, steps);
  for (const std::string& name : names) {
    ByteSource source(files, name);
    const std::string_view head = source.head();
    const bool table = is_op_table(head);
    if (!table && !is_op_trace(head)) {
      if (job.files.empty() && is_chrome_trace(head)) {
        for (const std::string& other : names)
          require_one_format(other, is_op_table(ByteSource(files, other).head()), name, false);
        return read_kineto_job(files, names, steps);
      }
      if (is_chrome_trace(head)) require_one_format(name, false, names.front(), job.lines);
      throw InputError({name, ""}, head.empty() ? "is empty" : "is not a timeline of a job's workers",
                       "a CSV with the columns step, dp, stage, op, seq, start_us and duration_us, a trace with PP "
                       "ranks, or Kineto traces of several ranks");
    }
    if (!job.files.empty()) require_one_format(name, table, names.front(), job.lines);
    job.lines = table;
    job.files.push_back(name);
    (table ? read_op_table : read_op_trace)(source, reader, job);
  }
  reader.require_ops(names.front());
  note_negative_ops(job);
  std::map<std::int64_t, WorkerPlace> worker_by_rank;
  if (job.lines)
    for (const auto& [worker, rank] : job.ranks)
      if (const auto [other, added] = worker_by_rank.emplace(rank, worker); !added)
        throw InputError({names.front(), ""},
                         fmt::format("rank {} belongs to two workers: replica {}, stage {}, and replica {}, stage {}",
                                     rank, other->second.first, other->second.second, worker.first, worker.second),
                         "one rank for each worker, or no column rank");
  return job;
}

}  // namespace allreplay
