// Writes fitted constants as cluster files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "sim/base/core/json.hpp"
#include "sim/studies/calibration/level_fit.hpp"

namespace allreplay {

/// The fit of several logs, or of NCCL's model, and the decision which cluster file it becomes.
struct LevelOutcome {
  std::span<const Calibration> logs;  ///< workers increasing
  LevelFit fit;
  bool fitted = true;        ///< false: the logs lack a level, and `fit` has only the layout
  bool tables = false;       ///< a table for each number of workers is written instead of the levels
  std::string why;           ///< the reason for tables
  std::optional<Json> base;  ///< the cluster file that the fit starts from; whatever is not fitted is copied

  /// True if factors of NCCL's model were fitted, which has no coefficients.
  bool is_nccl() const { return logs.front().algorithm->coefficients == nullptr; }
};

/// The option on which the coefficients of the algorithm depend, as a user writes it: name and value, or "".
std::pair<std::string, std::string> coefficient_option(const Calibration& calibration);

/// A cluster file: the line as `measured`, or the table; with the node's workers if they are known. Throws InputError
/// at `place` if a cluster file cannot hold it: a line that does not rise, or a table of another operation than an
/// all-reduce.
std::string calibration_cluster(const Calibration& calibration, const std::string& name, bool table,
                                std::optional<double> line_rate, const SourceLocation& place,
                                std::optional<std::int64_t> node_workers = std::nullopt);

/// A cluster file. Throws InputError at `place` for tables of another operation than an all-reduce.
std::string levels_cluster(const LevelOutcome& outcome, const std::string& name, const SourceLocation& place);

}  // namespace allreplay
