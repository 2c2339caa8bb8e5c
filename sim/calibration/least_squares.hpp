// The least squares of residuals that a few numbers leave, of which only values are known.
#pragma once

#include <functional>
#include <vector>

namespace allreplay {

/// What is left at a point: as many numbers wherever it is.
using Residuals = std::function<std::vector<double>(const std::vector<double>& at)>;

struct LeastSquares {
  std::vector<double> at;  ///< each from 0 to most_times
  double squares = 0;      ///< of the residuals, summed
};
inline constexpr double most_times = 4096;

/// The best that is reached from any of the starts: Levenberg and Marquardt 1963, as Eigen has it, over numbers of
/// about 1 that are not below 0. Residuals may have kinks, and be flat in places: there another start has to help. Once
/// they are next to nothing, no further start is tried. REQUIRES: a start; as many residuals as numbers.
LeastSquares least_squares(const Residuals& residuals, const std::vector<std::vector<double>>& starts);

/// How little residuals tell of each number by itself, and of pairs: the projection on all directions, in the
/// logarithms of the numbers, along which a factor of two moves the residuals by less than `noise` (Euclidean). On the
/// diagonal 0 says that a number is told, and 1 that it is told by nothing; beside the diagonal what is not 0 says
/// which two make up for each other. Of a hundredth more and a hundredth less the smaller change counts; less alone of
/// a number that is at its most.
std::vector<std::vector<double>> untold(const Residuals& residuals, const std::vector<double>& at, double noise,
                                        const std::vector<double>& most = {});

}  // namespace allreplay
