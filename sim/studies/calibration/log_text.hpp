// Helpers of the log readers: lines, words, and numbers whose errors name their place.
#pragma once

#include <cctype>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/core/collective_op.hpp"
#include "sim/base/core/units.hpp"
#include "sim/studies/calibration/measurement_log.hpp"

namespace allreplay {

inline bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The lines of a text, without their ends.
std::vector<std::string_view> lines_of(std::string_view text);

/// The words of a line, which blanks separate.
std::vector<std::string_view> words_of(std::string_view line);

/// The line without a launcher's prefix: "host: ", "0: ", "[1,0]<stdout>:", "[2024-01-31 12:00:00] ".
std::string_view without_prefix(std::string_view line);

/// True if a line looks like a row of numbers: its first word begins like one.
bool looks_like_row(std::string_view line);

SourceLocation line_of(const MeasurementLog& log, std::size_t index);  ///< index counts from 0

/// The last `columns` words of a row, the first without a launcher's prefix. Throws InputError if there are fewer.
std::vector<std::string_view> last_words(std::string_view line, std::size_t columns, const SourceLocation& place);

/// Parse a number in units of `scale`. Throw InputError unless it is at least 0 bytes, or from 1 ps to 10⁶ s.
Bytes parse_log_size(std::string_view word, double scale, const SourceLocation& place);
double parse_log_time(std::string_view word, double scale, const SourceLocation& place);
double require_time(double seconds, std::string_view word, const SourceLocation& place);

/// Throws InputError unless a row has as many columns as its table's header.
void require_width(std::size_t found, std::size_t columns, const SourceLocation& place);

/// Throws InputError if rows of another datatype came before; "": none did.
void require_one_type(std::string& known, std::string_view type, const SourceLocation& place);

/// A word in a benchmark's name, and the operation that it measures.
struct Benchmark {
  std::string_view word;
  CollectiveOp operation;
};

/// Sets the log's benchmark to `name`, and its operation to that of the first of `known` whose word is in the name.
/// Throws InputError if there is none, or if the log has another operation already.
void set_benchmark(MeasurementLog& log, std::string_view name, std::span<const Benchmark> known,
                   const SourceLocation& place);

/// Collects rows with their numbers of workers, and keeps those of the requested or only one. Throws InputError.
class WorkersColumn {
 public:
  void add(std::int64_t workers, const Measurement& row) { rows_.emplace_back(workers, row); }
  void choose(const LogRequest& request, MeasurementLog& log) const;

 private:
  std::vector<std::pair<std::int64_t, Measurement>> rows_;
};

// The formats, each in a file of its own.
bool is_nccl_tests(std::string_view text);
void read_nccl_tests(std::string_view text, const LogRequest& request, MeasurementLog& log);
bool is_osu(std::string_view text);
void read_osu(std::string_view text, const LogRequest& request, MeasurementLog& log);
bool is_imb(std::string_view text);
void read_imb(std::string_view text, const LogRequest& request, MeasurementLog& log);
bool is_measurement_csv(std::string_view text);
void read_measurement_csv(std::string_view text, const LogRequest& request, MeasurementLog& log);

// nccl-tests' programs as their rows tell them apart: by the columns redop and root, and by busbw / algbw, which
// depends on the collective and on the number of workers (nccl-tests, doc/PERFORMANCE.md).

struct NcclTest {
  std::string_view program;
  std::optional<CollectiveOp> operation;  ///< none: its logs are not read
  bool reduces;                           ///< redop is not "none"
  bool rooted;                            ///< root is not -1
  double (*bus_factor)(double workers);
};

std::span<const NcclTest> nccl_tests();

/// The test of that program, such as all_reduce_perf or all_reduce_perf_mpi; nullptr if it is unknown.
const NcclTest* nccl_test_named(std::string_view program);

/// busbw / algbw of a log, as exactly as the rounding of its rows leaves it.
class BusFactor {
 public:
  /// Adds a row; `redop` and `root` are "" if the table has no such column.
  void add(std::string_view algbw, std::string_view busbw, std::string_view redop, std::string_view root);

  /// False if no row has enough digits.
  bool is_known() const { return !rows_.empty(); }
  double value() const { return (range().first + range().second) / 2; }

  /// True if the test with that many workers prints this ratio, or if the ratio is not known.
  bool fits(const NcclTest& test, std::int64_t workers) const;

  /// The tests that fit the columns and the ratio; those that fit the column root, too, if there are any.
  std::vector<const NcclTest*> tests(std::int64_t workers) const;

  /// The only number of workers with which `test`, or any test that fits the columns (nullptr), prints this ratio.
  std::optional<std::int64_t> workers(const NcclTest* test) const;

 private:
  struct Row {
    double algbw, least, most;
  };
  std::pair<double, double> range() const;

  std::vector<Row> rows_;
  std::optional<bool> reduces_, rooted_;
};

/// The number that a word begins with; 0 if it is not finite.
double number_in(std::string_view word);

/// Half of a decimal number's last digit: what rounding can hide.
double rounding_of(std::string_view word);

}  // namespace allreplay
