// How far predictions are from measurements: errors in brief, and whether methods stand in the right order.
#pragma once

#include <cstddef>
#include <vector>

namespace allreplay {

/// Between the two nearest of the sorted values, in proportion: 0.5 is the median. REQUIRES: some values.
double quantile(std::vector<double> values, double share);

/// Errors are relative, and above zero where the prediction is too fast.
struct ErrorSummary {
  std::size_t rows = 0;
  double median = 0, p90 = 0;  ///< of the magnitudes
  double worst = 0;            ///< of the greatest magnitude, with its sign
  double bias = 0;             ///< the median of the errors with their signs
  std::size_t too_fast = 0;
};
ErrorSummary summary_of(const std::vector<double>& errors);

/// A method in a setting, by its speed.
struct Competitor {
  double measured = 0, predicted = 0;
};

/// The methods of one setting, measured and predicted.
struct Contest {
  std::size_t pairs = 0;         ///< of methods whose measured speeds differ
  double right = 0;              ///< how many of them are predicted in the right order; half of those predicted equal
  std::size_t winner = 0;        ///< the fastest as measured: its place in the list
  std::size_t advised = 0;       ///< the fastest as predicted; among equals the one that was measured slowest
  bool winner_is_right = false;  ///< none was measured faster than the advised one
  double regret = 0;             ///< how much longer the advised one takes than the winner, as measured
};
/// REQUIRES: some competitors.
Contest contest_of(const std::vector<Competitor>& competitors);

}  // namespace allreplay
