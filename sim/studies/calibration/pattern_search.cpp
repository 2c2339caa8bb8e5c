#include "sim/studies/calibration/pattern_search.hpp"

#include <cmath>

namespace allreplay {

std::vector<double> pattern_search(const std::function<double(const std::vector<double>&)>& cost,
                                   std::vector<double> start, const std::vector<bool>& free, PatternSteps steps) {
  std::vector<double> at = std::move(start);
  double best = cost(at);
  const auto improve = [&](const std::vector<double>& candidate) {
    const double value = cost(candidate);
    if (!(value < best)) return false;
    best = value;
    at = candidate;
    return true;
  };
  for (double step = steps.first; step > steps.last;) {
    const std::vector<double> before = at;
    bool moved = false;
    for (std::size_t axis = 0; axis < at.size(); ++axis)
      for (const double sign : {1.0, -1.0}) {
        if (!free[axis]) continue;
        std::vector<double> candidate = at;
        candidate[axis] += sign * step;
        if (std::abs(candidate[axis]) < steps.bound && improve(candidate)) {
          moved = true;
          break;
        }
      }
    if (!moved) {
      step /= 2;
      continue;
    }
    std::vector<double> onward = at;
    for (std::size_t axis = 0; axis < at.size(); ++axis) onward[axis] += at[axis] - before[axis];
    improve(onward);
  }
  return at;
}

}  // namespace allreplay
