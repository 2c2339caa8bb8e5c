#include "sim/studies/calibration/measurement_log.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/studies/calibration/log_text.hpp"

namespace allreplay {

namespace {

constexpr LogFormat formats[] = {
    {"nccl-tests", "all_reduce_perf and the other tests, also through mpirun or srun", is_nccl_tests, read_nccl_tests},
    {"osu", "osu_allreduce and the other benchmarks, also with -f", is_osu, read_osu},
    {"imb", "IMB-MPI1: PingPong, Allreduce, Alltoall, Bcast and others", is_imb, read_imb},
    {"csv", "a header such as bytes,time_us (or with a column of workers), then rows", is_measurement_csv,
     read_measurement_csv},
};

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// A word of a log, shortened and made printable for messages.
std::string shown(std::string_view word) {
  constexpr std::size_t most = 40;
  std::string text(word.substr(0, most));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return !std::isprint(static_cast<unsigned char>(c)); }, '?');
  return word.size() > most ? text + "…" : text;
}

// Rejects text with control characters that no terminal's log has.
void require_text(std::string_view text, const std::string& file) {
  int line = 1;
  for (const char c : text) {
    line += c == '\n';
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\x1b')
      throw InputError({file, fmt::format("line {}", line)}, "is not text", "the log as the benchmark printed it");
  }
}

const LogFormat& format_of(std::string_view text, const std::string& file, const LogRequest& request) {
  if (!request.format.empty())
    return find_by_name(formats, request.format.value, request.format.place, "unknown format '{}'");
  for (const LogFormat& format : formats)
    if (format.recognises(text)) return format;
  throw InputError({file, ""}, "is not a log of a collective",
                   "what nccl-tests, osu_allreduce or IMB-MPI1 print, or a CSV with the header bytes,time_us");
}

// Returns the first `#` of a line if it begins the header of a table or the title of a benchmark; else npos.
std::size_t header_start(std::string_view line) {
  constexpr std::size_t two_words = 100;  // not the rest of the line: it may have a million `#`
  for (std::size_t at = line.find('#'); at != line.npos; at = line.find('#', at + 1)) {
    const std::vector<std::string_view> words = words_of(line.substr(at + 1, two_words));
    if (words.size() < 2) continue;
    if (words[0] == "OSU" || words[0] == "Size" || (words[0] == "size" && words[1] == "count") ||
        (words[0] == "bytes" && words[1] == "#repetitions"))
      return at;
  }
  return line.npos;
}

// Returns the number of characters of a line that have the form of a prefix: the same characters, but any digits for
// digits and any blanks for blanks. 0 if the line does not begin like that.
std::size_t matched(std::string_view line, std::string_view prefix) {
  const auto run = [](std::string_view text, std::size_t at, bool (*belongs)(char)) {
    while (at < text.size() && belongs(text[at])) ++at;
    return at;
  };
  std::size_t at = 0;
  for (std::size_t i = 0; i < prefix.size();) {
    if (const auto belongs = digit(prefix[i]) ? digit : blank; belongs(prefix[i])) {
      if (at == line.size() || !belongs(line[at])) return 0;
      i = run(prefix, i, belongs);
      at = run(line, at, belongs);
    } else if (at == line.size() || line[at++] != prefix[i++]) {
      return 0;
    }
  }
  return at;
}

// Returns the text without the prefix of the table's header, and without prefixes of the same form on other lines: time
// stamps of kubectl and of CI, `(head, rank=0, pid=7)`, `> `. Also removes the backslash of Markdown's `\#`.
std::string without_common_prefix(std::string_view text) {
  std::string_view prefix;
  for (const std::string_view line : lines_of(text))
    if (const std::size_t at = header_start(line); at != line.npos) {
      prefix = line.substr(0, at);
      if (prefix.ends_with('\\')) prefix.remove_suffix(1);
      break;
    }
  while (!prefix.empty() && blank(prefix.back())) prefix.remove_suffix(1);  // rows may have none after it
  std::string plain;
  for (std::string_view line : lines_of(text)) {
    line.remove_prefix(matched(line, prefix));
    if (const std::string_view content = trim(line); content.starts_with("\\#")) line = content.substr(1);
    plain += line;
    plain += '\n';
  }
  return plain;
}

double parse_log_number(std::string_view word, std::string_view noun, const SourceLocation& place) {
  try {
    return parse_number(word, place);
  } catch (const InputError&) {
    throw InputError(place, fmt::format("'{}' is not a valid {}", shown(word), noun), "a finite number");
  }
}

}  // namespace

std::span<const LogFormat> log_formats() { return formats; }

MeasurementLog read_measurements(std::string_view log_text, const std::string& file, const LogRequest& request) {
  require_text(log_text, file);
  const std::string text = without_common_prefix(log_text);
  const LogFormat& format = format_of(text, file, request);
  MeasurementLog log{.file = file, .format = std::string(format.name)};
  format.read(text, request, log);
  const auto empty = std::erase_if(log.points, [](const Measurement& row) { return row.bytes == 0; });
  if (empty > 0) log.notes.push_back(fmt::format("{} rows of zero bytes are left out", empty));
  if (log.points.empty())
    throw InputError({file, ""}, fmt::format("has no rows of {}", format.name), "rows of sizes and times");
  if (request.workers > 0 && log.workers > 0 && request.workers != log.workers)
    throw InputError(
        request.workers.place,
        fmt::format("{} workers contradict the log, which was taken with {}", request.workers.value, log.workers),
        fmt::format("{}, or leave it out", log.workers));
  if (log.workers == 0) log.workers = request.workers;
  if (log.workers == 0) throw InputError({file, ""}, "does not say how many workers it was taken with", "--workers N");
  if (log.workers < 2)
    throw InputError(request.workers > 0 ? request.workers.place : SourceLocation{file, ""},
                     "was taken with one worker, which sends nothing", "a log of two or more workers");
  return log;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    if (lines.back().ends_with('\r')) lines.back().remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (line = trim(line); !line.empty(); line = trim(line)) {
    const auto* end = std::find_if(line.begin(), line.end(), blank);
    words.push_back(line.substr(0, static_cast<std::size_t>(end - line.begin())));
    line.remove_prefix(words.back().size());
  }
  return words;
}

std::string_view without_prefix(std::string_view line) {
  constexpr int most_prefixes = 10;  // each is searched for in the whole line
  for (int i = 0; i < most_prefixes; ++i) {
    line = trim(line);
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view first = line.substr(0, end);
    std::size_t tagged = std::string_view::npos;  // mpirun --tag-output, glued or not
    for (const std::string_view tag : {"]<stdout>:", "]<stderr>:"})
      if (const std::size_t at = first.find(tag); at != std::string_view::npos && first.starts_with('['))
        tagged = std::min(tagged, at + tag.size());
    if (tagged != std::string_view::npos)
      line.remove_prefix(tagged);
    else if (line.starts_with('[') && line.find("] ") != std::string_view::npos)  // [2024-01-31 12:00:00]
      line.remove_prefix(line.find("] ") + 2);
    else if (first.ends_with(':') && end < line.size())  // host: and srun --label
      line.remove_prefix(end);
    else
      return line;
  }
  return trim(line);
}

bool looks_like_row(std::string_view line) {
  if (line.empty()) return false;
  const bool sign = (line[0] == '-' || line[0] == '+') && line.size() > 1;
  return digit(line[sign ? 1 : 0]);
}

SourceLocation line_of(const MeasurementLog& log, std::size_t index) {
  return {log.file, fmt::format("line {}", index + 1)};
}

std::vector<std::string_view> last_words(std::string_view line, std::size_t columns, const SourceLocation& place) {
  std::vector<std::string_view> words = words_of(line);
  if (words.size() < columns)
    throw InputError(place, fmt::format("is cut short after {} columns", words.size()),
                     fmt::format("{} columns, as the table's header names them", columns));
  words.erase(words.begin(), words.end() - static_cast<std::ptrdiff_t>(columns));
  words[0].remove_prefix(words[0].find_last_of(":>|]") + 1);  // npos + 1 is 0
  return words;
}

void require_width(std::size_t found, std::size_t columns, const SourceLocation& place) {
  if (found != columns)
    throw InputError(place, fmt::format("has {} columns", found), fmt::format("the {} of the table's header", columns));
}

void require_one_type(std::string& known, std::string_view type, const SourceLocation& place) {
  if (known.empty()) known = type;
  if (known != type)
    throw InputError(place, fmt::format("is of type {} after rows of {}", type, known), "one datatype per file");
}

Bytes parse_log_size(std::string_view word, double scale, const SourceLocation& place) {
  const double bytes = std::round(parse_log_number(word, "size", place) * scale);
  if (!(bytes >= 0 && bytes <= 1e18))
    throw InputError(place, fmt::format("'{}' is not a valid size", shown(word)), "0 to 1e9 GB");
  return static_cast<Bytes>(bytes);
}

double require_time(double seconds, std::string_view word, const SourceLocation& place) {
  if (!(seconds >= 1e-12 && seconds <= 1e6))
    throw InputError(place, fmt::format("'{}' is not a valid time of a collective", shown(word)),
                     "above zero, to 1e6 s");
  return seconds;
}

double parse_log_time(std::string_view word, double scale, const SourceLocation& place) {
  return require_time(parse_log_number(word, "time", place) * scale, word, place);
}

void set_benchmark(MeasurementLog& log, std::string_view name, std::span<const Benchmark> known,
                   const SourceLocation& place) {
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const Benchmark& one) { return name.find(one.word) != name.npos; });
  if (found == known.end()) {
    std::vector<std::string_view> words;
    for (const Benchmark& one : known) words.push_back(one.word);
    throw InputError(place, fmt::format("'{}' is not a known benchmark of a collective", shown(name)),
                     fmt::format("one of {}", fmt::join(words, ", ")));
  }
  if (log.operation && *log.operation != found->operation)
    throw InputError(place, fmt::format("'{}' follows {}", shown(name), log.benchmark), "one benchmark per file");
  log.operation = found->operation;
  log.benchmark = shown(name);
}

void WorkersColumn::choose(const LogRequest& request, MeasurementLog& log) const {
  std::set<std::int64_t> known;
  for (const auto& [workers, row] : rows_) known.insert(workers);
  if (known.empty()) return;
  if (request.workers.value == 0 && known.size() > 1)
    throw InputError({log.file, ""}, fmt::format("was taken with {} workers", fmt::join(known, ", ")),
                     "choose one with --workers");
  log.workers = request.workers > 0 ? request.workers.value : *known.begin();
  if (!known.contains(log.workers))
    throw InputError(
        request.workers.place,
        fmt::format("the log has no rows for {} workers, only for {}", log.workers, fmt::join(known, ", ")),
        "one of them");
  for (const auto& [workers, row] : rows_)
    if (workers == log.workers) log.points.push_back(row);
}

}  // namespace allreplay
