// Minimises the sum of squared residuals over a few numbers, without derivatives.
#pragma once

#include <functional>
#include <vector>

namespace allreplay {

/// The residuals at a point; their number does not depend on it.
using Residuals = std::function<std::vector<double>(const std::vector<double>& at)>;

struct LeastSquares {
  std::vector<double> at;  ///< each from 0 to most_times
  double squares = 0;      ///< sum of squared residuals
};
inline constexpr double most_times = 4096;

/// Returns the best point reached from any of the starts, by Levenberg and Marquardt 1963 as implemented in Eigen. The
/// numbers are not negative, and should be about 1. Residuals may have kinks and flat parts, which is why several
/// starts help. No further start is tried once the residuals are almost zero. REQUIRES: at least one start, and at
/// least as many residuals as numbers.
LeastSquares least_squares(const Residuals& residuals, const std::vector<std::vector<double>>& starts);

/// Returns what the residuals do not determine: the projection onto all directions, in the logarithms of the numbers,
/// along which a factor of two changes the residuals by less than `noise` (Euclidean). A diagonal entry is 0 if the
/// number is determined, and 1 if nothing determines it; an off-diagonal entry other than 0 means that two numbers
/// compensate for each other. Slopes are the smaller of those for 1 % more and 1 % less; only for less at a limit
/// `most`.
std::vector<std::vector<double>> undetermined_shares(const Residuals& residuals, const std::vector<double>& at,
                                                     double noise, const std::vector<double>& most = {});

/// The first and the last size of a step, and the largest distance from 0 along any axis.
struct PatternSteps {
  double first = 0.35, last = 1e-7, bound = 12;
};

/// The method of Hooke and Jeeves 1961: makes a step along each free axis, and another one along the sum of those that
/// helped; halves the step if none did. Returns the point of the least cost.
std::vector<double> pattern_search(const std::function<double(const std::vector<double>&)>& cost,
                                   std::vector<double> start, const std::vector<bool>& free, PatternSteps steps = {});

}  // namespace allreplay
