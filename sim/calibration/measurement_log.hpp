// Times of a collective by message size, read from what the usual benchmarks print: nccl-tests, OSU micro-benchmarks,
// CSV.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collective/algorithm.hpp"
#include "sim/core/error.hpp"
#include "sim/core/units.hpp"

namespace allreplay {

/// One line of a log: so many bytes took so long.
struct Measurement {
  Bytes bytes = 0;     ///< above zero
  double seconds = 0;  ///< above zero
};

/// What a log is asked for. Empty: what it says itself.
struct LogRequest {
  std::string format;        ///< a name of log_formats(); "": recognised
  std::string time;          ///< which of the times: out-of-place, in-place; avg, min, max; a CSV column
  std::int64_t workers = 0;  ///< chooses among the rows of a log that has several; 0: there is one
  SourceLocation place_of_format, place_of_time, place_of_workers;
  std::optional<CollectiveOp> operation = {};  ///< chooses among the rows of a log of several collectives
};

struct MeasurementLog {
  std::string file;
  std::string format;     ///< a name of log_formats()
  std::string benchmark;  ///< as the log names it ("all_reduce_perf", "MPI Allreduce"); "" if it does not
  std::optional<CollectiveOp> operation;  ///< of that benchmark
  bool total_gathered = false;            ///< the size of an all-gather is that of all payloads together (nccl-tests)
  std::int64_t workers = 0;               ///< among which these times were taken; 0: the log does not say
  std::int64_t per_host = 0;              ///< of these on one host, at most; 0: the log does not say
  std::string time;                       ///< which of its times these are
  std::vector<Measurement> points;        ///< in the order of the log
  std::vector<std::string> notes;         ///< what the user should know: rows left out, wrong results
};

/// One format, and how its files are known.
struct LogFormat {
  std::string_view name;
  std::string_view summary;
  bool (*recognises)(std::string_view text);
  void (*read)(std::string_view text, const LogRequest& request, MeasurementLog& log);
};

std::span<const LogFormat> log_formats();

/// Reads the text of a log. Rows of zero bytes are left out, and noted. Throws InputError, with the line, for what is
/// not text, for rows that are cut short or hold no times, for several datatypes, for numbers of workers that
/// contradict each other, and for benchmarks of what allreplay does not simulate.
MeasurementLog read_measurements(std::string_view text, const std::string& file, const LogRequest& request);

}  // namespace allreplay
