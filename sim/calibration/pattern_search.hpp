// The least of a function of a few numbers, of which only values are known.
#pragma once

#include <functional>
#include <vector>

namespace allreplay {

/// From the first step to the last, and no further than `bound` from 0 along any axis.
struct PatternSteps {
  double first = 0.35, last = 1e-7, bound = 12;
};

/// Hooke and Jeeves 1961: steps along each free axis, halved when none helps, and once more along what a round has
/// gained. Returns where `cost` was least.
std::vector<double> pattern_search(const std::function<double(const std::vector<double>&)>& cost,
                                   std::vector<double> start, const std::vector<bool>& free, PatternSteps steps = {});

}  // namespace allreplay
