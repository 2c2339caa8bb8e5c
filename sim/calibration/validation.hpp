// Predictions beside measurements: constants fitted to some rows, every other row predicted and scored.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/calibration/fit_constants.hpp"
#include "sim/calibration/score.hpp"
#include "sim/farm/farm.hpp"

namespace allreplay {

/// 1 − efficiency: what scaling costs, as measured and as predicted.
struct ScalingLoss {
  double measured = 0, predicted = 0;
};

struct ValidatedPoint {
  Predicted predicted;
  double error = 0;                             ///< relative, above zero where the prediction is too fast
  double no_communication = 0, no_overlap = 0;  ///< the errors of the null models
  std::optional<ScalingLoss> loss;              ///< none of a collective alone
  std::optional<double> smaller;  ///< the error of what was measured at the next smaller number of workers
};

/// The third null model, of collectives alone: as measured at the next smaller number of workers; and the predictions
/// beside it.
struct SmallerScore {
  ErrorSummary smaller, error;
};

struct GroupScore {
  std::string name;
  ErrorSummary error, no_communication, no_overlap;
  std::optional<SmallerScore> smaller;        ///< where a smaller number was measured, too
  double loss = 0;                            ///< the median of the measured scaling loss
  double loss_error = 0, loss_error_p90 = 0;  ///< of |predicted − measured| loss, in shares of 1
};

/// The methods of one setting: rows with the same profile, cluster, workers and micro-batches.
struct Setting {
  std::vector<std::size_t> rows;  ///< places in the file; at least two
  Contest contest;                ///< its places are those in `rows`
};

struct Validation {
  MeasuredFile measured;
  std::vector<FittedConstant> fitted;
  std::vector<std::size_t> reached;    ///< of each of these: how many scored rows it has a say in
  std::vector<ValidatedPoint> points;  ///< of every row, those that fit as well
  std::vector<GroupScore> groups;      ///< in the order of the file
  GroupScore all;
  std::optional<GroupScore> matters;  ///< the rows in which communication matters, if that was asked for
  std::vector<Setting> settings;

  /// Whether computing and communicating are there to be told apart.
  bool trains() const { return measured.quantity != Quantity::CollectiveTime; }
};

/// Everything is checked before anything is simulated. `matters`: how far "no communication" misses a row in which
/// communication matters, if there shall be a group of these. By the other processes of a farm (answer_validation())
/// where there are any. Throws InputError.
Validation validate(MeasuredFile measured, Farm* farm = nullptr, std::optional<double> matters = std::nullopt);

/// What these do: fit the constants of one group, or predict one row.
Farm::Answer answer_validation(MeasuredFile measured);

}  // namespace allreplay
