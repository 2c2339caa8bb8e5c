// Reads the times of a collective by message size from logs of nccl-tests, OSU micro-benchmarks and Intel
// MPI Benchmarks, and from CSV.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/base/core/given.hpp"
#include "sim/base/core/units.hpp"
#include "sim/plans/collective/algorithm.hpp"

namespace allreplay {

/// One row of a log: the time of one message size.
struct Measurement {
  Bytes bytes = 0;     ///< above zero
  double seconds = 0;  ///< above zero
};

/// The choice among the rows and times of a log. Empty fields leave it to the log.
struct LogRequest {
  Given<std::string> format;                          ///< a name of log_formats(); "": recognised by its content
  Given<std::string> time;                            ///< out-of-place, in-place; avg, min, max; a CSV column
  Given<std::int64_t> workers = 0;                    ///< chooses rows if a log has several numbers; 0: it has one
  Given<std::optional<CollectiveOp>> operation = {};  ///< chooses rows if a log has several, or does not name it
  std::vector<CollectiveOp> alternatives = {};        ///< operations that would do as well

  bool asks_for(CollectiveOp op) const {
    return operation.value == op || std::find(alternatives.begin(), alternatives.end(), op) != alternatives.end();
  }
};

struct MeasurementLog {
  std::string file;
  std::string format;     ///< a name of log_formats()
  std::string benchmark;  ///< as the log names it ("all_reduce_perf", "MPI Allreduce"); "" if it does not
  std::optional<CollectiveOp> operation;  ///< of that benchmark
  bool total_gathered = false;            ///< the size of an all-gather is that of all payloads together (nccl-tests)
  std::int64_t workers = 0;               ///< number of workers; 0: the log does not say
  std::int64_t per_host = 0;              ///< the most workers on one host; 0: the log does not say
  std::string time;                       ///< the name of the time that was read
  std::vector<Measurement> points;        ///< in the order of the log
  std::vector<std::string> notes;         ///< for the user: rows left out, wrong results
};

/// A format, how it is recognised, and its reader.
struct LogFormat {
  std::string_view name;
  std::string_view summary;
  bool (*recognises)(std::string_view text);
  void (*read)(std::string_view text, const LogRequest& request, MeasurementLog& log);
};

std::span<const LogFormat> log_formats();

/// Reads the text of a log. Rows of zero bytes are left out, with a note. Throws InputError, with the line, if this is
/// not text, rows are cut short or have no times, there are several datatypes, numbers of workers contradict each
/// other, or the benchmark is of an operation that allreplay does not simulate.
MeasurementLog read_measurements(std::string_view text, const std::string& file, const LogRequest& request);

}  // namespace allreplay
