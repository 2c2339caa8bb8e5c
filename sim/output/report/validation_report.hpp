// The report of `allreplay validate`.
#pragma once

#include <string>

#include "sim/base/core/json_value.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/calibration/validation.hpp"

namespace allreplay {

/// Errors are relative, and positive if the prediction is too fast.
JsonValue validation_json(const Validation& validation);
const View& validation_view();

/// The file's own columns and the predictions, a line for each point.
std::string validation_csv(const Validation& validation);

/// Sums over all settings: pairs, pairs in the right order, right winners, and the regrets.
struct ContestSums {
  std::size_t settings = 0, pairs = 0, winners = 0;
  double right = 0, mean_regret = 0, worst_regret = 0;
};
ContestSums sums_of(const Validation& validation);

}  // namespace allreplay
