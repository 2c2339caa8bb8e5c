// What the command `validate` prints and writes.
#pragma once

#include <string>
#include <vector>

#include "sim/calibration/validation.hpp"
#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"

namespace allreplay {

/// The fitted constants, the errors by group beside those of the null models, and the order of methods, for people.
std::string validation_text(const Validation& validation, const Screen& screen = {});

/// One object; errors relative, above zero where the prediction is too fast.
JsonValue validation_json(const Validation& validation);

/// Of each constant that the rows do not tell, by itself or from others: why, and what is simulated. One line each.
std::vector<std::string> doubts_of_constants(const Validation& validation);

/// The file's own columns and what was predicted, a line each.
std::string validation_csv(const Validation& validation);

/// Over all settings: pairs, how many of them are in the right order, how often the winner is right, and the regrets.
struct ContestSums {
  std::size_t settings = 0, pairs = 0, winners = 0;
  double right = 0, mean_regret = 0, worst_regret = 0;
};
ContestSums sums_of(const Validation& validation);

}  // namespace allreplay
