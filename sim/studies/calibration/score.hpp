// Summarises the errors of predictions, and compares the predicted order of methods with the measured one.
#pragma once

#include <cstddef>
#include <vector>

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

}  // namespace allreplay
