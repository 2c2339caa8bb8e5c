// What the readers of logs share: lines, words, and numbers that know where they stand.
#pragma once

#include <cctype>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/calibration/measurement_log.hpp"

namespace allreplay {

inline bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The lines of a text, without their ends.
std::vector<std::string_view> lines_of(std::string_view text);

/// The words of a line: what stands between blanks.
std::vector<std::string_view> words_of(std::string_view line);

/// The line without what launchers write before it: "host: ", "0: ", "[1,0]<stdout>:", "[2024-01-31 12:00:00] ".
std::string_view without_prefix(std::string_view line);

/// Whether a line looks like a row of numbers: its first word begins like a number.
bool starts_like_a_row(std::string_view line);

SourceLocation line_of(const MeasurementLog& log, std::size_t index);  ///< index counts from 0

/// The last `columns` words of a row, the first of them freed of what a launcher glued to it. Throws InputError when
/// there are not so many.
std::vector<std::string_view> last_words(std::string_view line, std::size_t columns, const SourceLocation& place);

/// Throw InputError unless the word is a size of at least 0 bytes, or a time from 1 ps to 10⁶ s.
Bytes parse_log_size(std::string_view word, double scale, const SourceLocation& place);
double parse_log_time(std::string_view word, double scale, const SourceLocation& place);
double require_time(double seconds, std::string_view word, const SourceLocation& place);

/// A benchmark's word, and what it measures.
struct Benchmark {
  std::string_view word;
  CollectiveOp operation;
};

/// Notes that the log is of the benchmark `name`, the first of `known` whose word stands in it. Throws InputError when
/// there is none, or when the log was of another before.
void set_benchmark(MeasurementLog& log, std::string_view name, std::span<const Benchmark> known,
                   const SourceLocation& place);

/// Rows that name their number of workers: keeps those of the one that was asked for, or the only one. Throws
/// InputError.
class WorkersColumn {
 public:
  void add(std::int64_t workers, const Measurement& row) { rows_.emplace_back(workers, row); }
  void choose(const LogRequest& request, MeasurementLog& log) const;

 private:
  std::vector<std::pair<std::int64_t, Measurement>> rows_;
};

// The formats, a file each.
bool is_nccl_tests(std::string_view text);
void read_nccl_tests(std::string_view text, const LogRequest& request, MeasurementLog& log);
bool is_osu(std::string_view text);
void read_osu(std::string_view text, const LogRequest& request, MeasurementLog& log);
bool is_measurement_csv(std::string_view text);
void read_measurement_csv(std::string_view text, const LogRequest& request, MeasurementLog& log);

}  // namespace allreplay
