// Minimises a function of a few numbers, without derivatives.
#pragma once

#include <functional>
#include <vector>

namespace allreplay {

/// The first and the last size of a step, and the largest distance from 0 along any axis.
struct PatternSteps {
  double first = 0.35, last = 1e-7, bound = 12;
};

/// The method of Hooke and Jeeves 1961: makes a step along each free axis, and another one along the sum of those that
/// helped; halves the step if none did. Returns the point of the least cost.
std::vector<double> pattern_search(const std::function<double(const std::vector<double>&)>& cost,
                                   std::vector<double> start, const std::vector<bool>& free, PatternSteps steps = {});

}  // namespace allreplay
