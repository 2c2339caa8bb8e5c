// Fits a network's constants to a log: a and b of the collective, α and β of its messages, or a table; with errors.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/plans/collective/algorithm.hpp"
#include "sim/studies/calibration/fit.hpp"
#include "sim/studies/calibration/measurement_log.hpp"

namespace allreplay {

struct CalibrationRequest {
  const Algorithm* algorithm = nullptr;  ///< null: the first for the log's operation, or ring
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
  MeasurementLog log;  ///< with the fitted rows; the bytes of an all-gather are one worker's payload
  const Algorithm* algorithm = nullptr;
  CollectiveOptions options;
  LineFit line;
  double alpha = 0, beta = 0, gamma = 0;  ///< of one message: seconds, seconds per byte; 0 for nccl
  TableFit table;
  bool table_is_better = false;         ///< the table has several pieces
  std::vector<RelativeErrors> decades;  ///< by powers of ten of the size, if there are rows
  RelativeErrors overall;
  std::vector<std::string> warnings;

  std::int64_t workers() const { return log.workers; }
  Bytes largest() const { return overall.to; }
  /// True if the median error of the line is above 10 %: a table fits better.
  bool line_misses() const { return overall.line_median > 0.1; }
  /// The time of the largest size by the table (or else by the line), seconds.
  double time_of_largest(bool table_wanted) const;
};

/// Throws InputError for a log of another collective, for fewer than two sizes, and if γ is more than b allows.
Calibration calibrate(MeasurementLog log, const CalibrationRequest& request);

}  // namespace allreplay
