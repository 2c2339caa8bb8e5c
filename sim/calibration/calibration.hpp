// The constants of a network out of a log: a and b of the collective, α and β of its messages, or a table; and how far
// each is from what was measured.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/calibration/fit.hpp"
#include "sim/calibration/measurement_log.hpp"
#include "sim/collective/algorithm.hpp"

namespace allreplay {

struct CalibrationRequest {
  const Algorithm* algorithm = nullptr;  ///< null: the first that does what the log's benchmark does, or ring
  CollectiveOptions options;
  double gamma = 0;                                        ///< seconds per byte reduced, known from elsewhere
  Bytes from = 1, to = std::numeric_limits<Bytes>::max();  ///< the sizes to fit
  std::optional<double> line_rate;                         ///< of a link, bytes per second
  SourceLocation place_of_collective, place_of_options, place_of_gamma, place_of_range;
};

/// |fitted − measured| / measured over the sizes from `from` to below `to`.
struct RelativeErrors {
  Bytes from = 0, to = 0;
  std::size_t rows = 0;
  double line_median = 0, line_worst = 0, table_median = 0, table_worst = 0;
};

struct Calibration {
  MeasurementLog log;  ///< with the rows that were fitted; an all-gather's bytes are one worker's payload
  const Algorithm* algorithm = nullptr;
  CollectiveOptions options;
  LineFit line;
  double alpha = 0, beta = 0, gamma = 0;  ///< of one message: seconds, seconds per byte; 0 for nccl
  TableFit table;
  bool table_is_better = false;         ///< the table has several pieces (fit_table() says when)
  std::vector<RelativeErrors> decades;  ///< by powers of ten of the size, those with rows
  RelativeErrors overall;
  std::vector<std::string> warnings;

  std::int64_t workers() const { return log.workers; }
  Bytes largest() const { return overall.to; }
  /// Whether one line is off by more than 10 % in the median of all rows: a table says better what was measured.
  bool line_misses() const { return overall.line_median > 0.1; }
  /// What the table (or else the line) makes of the largest size, seconds.
  double time_of_largest(bool table_wanted) const;
};

/// Throws InputError when the log is of another kind of collective, when fewer than two sizes are left to fit, and when
/// γ exceeds what b leaves for it.
Calibration calibrate(MeasurementLog log, const CalibrationRequest& request);

}  // namespace allreplay
