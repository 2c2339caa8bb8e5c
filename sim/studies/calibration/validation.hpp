// Compares predictions with measurements: fits constants to some rows, and predicts and scores all others.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/farm/farm.hpp"
#include "sim/studies/calibration/fitted_constant.hpp"

namespace allreplay {

/// A quantile, interpolated between the two nearest values; `share` 0.5 is the median. REQUIRES: at least one value.
double quantile(std::vector<double> values, double share);

/// Errors are relative, and positive if the prediction is too fast.
struct ErrorSummary {
  std::size_t rows = 0;
  double median = 0, p90 = 0;  ///< of the magnitudes
  double worst = 0;            ///< the error of greatest magnitude, with its sign
  double bias = 0;             ///< the median of the errors with their signs
  std::size_t too_fast = 0;
};
ErrorSummary summary_of(const std::vector<double>& errors);

/// The measured and the predicted speed of a method in a setting.
struct Competitor {
  double measured = 0, predicted = 0;
};

/// The comparison of the methods of one setting.
struct Contest {
  std::size_t pairs = 0;         ///< pairs of methods whose measured speeds differ
  double right = 0;              ///< pairs that are predicted in the right order; equal predictions count half
  std::size_t winner = 0;        ///< index of the method that was measured fastest
  std::size_t advised = 0;       ///< index of the method that is predicted fastest; of equals the one measured slowest
  bool winner_is_right = false;  ///< none was measured faster than the advised one
  double regret = 0;             ///< extra time of the advised method, as measured, relative to the winner's time
};
/// REQUIRES: at least one competitor.
Contest contest_of(const std::vector<Competitor>& competitors);

/// The loss of scaling, 1 − efficiency.
struct ScalingLoss {
  double measured = 0, predicted = 0;
};

struct ValidatedPoint {
  Predicted predicted;
  double error = 0;                             ///< relative, positive if the prediction is too fast
  double no_communication = 0, no_overlap = 0;  ///< the errors of the null models
  std::optional<ScalingLoss> loss;              ///< none for single collectives
  std::optional<double> smaller;  ///< the error of the value measured with the next smaller number of workers
};

/// The errors of a third null model for single collectives (the value with fewer workers), and ours on the same rows.
struct SmallerScore {
  ErrorSummary smaller, error;
};

struct GroupScore {
  std::string name;
  ErrorSummary error, no_communication, no_overlap;
  std::optional<SmallerScore> smaller;        ///< of rows for which there is a smaller number
  double loss = 0;                            ///< the median of the measured scaling loss
  double loss_error = 0, loss_error_p90 = 0;  ///< median and 90th percentile of |predicted − measured| loss
};

/// The methods of one setting: rows with the same profile, cluster, workers and micro-batches.
struct Setting {
  std::vector<std::size_t> rows;  ///< indices of at least two rows
  Contest contest;                ///< its indices are those of `rows`
};

struct Validation {
  MeasuredFile measured;
  std::vector<FittedConstant> fitted;
  std::vector<std::size_t> reached;    ///< by constant: the number of scored rows that it affects
  std::vector<ValidatedPoint> points;  ///< of every row, including those for fitting
  std::vector<GroupScore> groups;      ///< in the order of the file
  GroupScore all;
  std::optional<GroupScore> matters;  ///< the rows in which communication matters, if requested
  std::vector<Setting> settings;

  /// True if iterations were measured, and not single collectives.
  bool trains() const { return measured.quantity != Quantity::CollectiveTime; }
};

/// Checks everything before anything is simulated. `matters`: rows whose error of "no communication" exceeds this form
/// a group of their own. The other processes of a farm, if any, do the work (answer_validation()). Throws InputError.
Validation validate(MeasuredFile measured, Farm* farm = nullptr, std::optional<double> matters = std::nullopt);

/// The function of a farm's other processes: fits the constants of one group, or predicts one row.
Farm::Answer answer_validation(MeasuredFile measured);

}  // namespace allreplay
