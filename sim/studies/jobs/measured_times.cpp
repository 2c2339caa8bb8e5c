#include "sim/studies/jobs/measured_times.hpp"

#include <algorithm>
#include <cmath>

namespace allreplay {

double quantile(std::span<const double> sorted, double p) {
  const double number = std::ceil(p * static_cast<double>(sorted.size()) - 1e-9);
  return sorted[static_cast<std::size_t>(std::max(1., number)) - 1];
}

std::optional<MeasuredTimes> measured_times(std::span<const Time> iterations, std::optional<double> mean) {
  if (iterations.empty()) return std::nullopt;
  MeasuredTimes times;
  Time sum{0};
  for (const Time one : iterations) {
    sum = add(sum, one);
    times.each.push_back(to_seconds(one));
  }
  std::vector<double> sorted = times.each;
  std::sort(sorted.begin(), sorted.end());
  times.mean = mean.value_or(to_seconds(sum) / static_cast<double>(iterations.size()));
  times.least = sorted.front();
  times.most = sorted.back();
  times.p50 = quantile(sorted, 0.5);
  times.p99 = quantile(sorted, 0.99);
  return times;
}

std::optional<double> fairness(std::span<const double> slowdowns) {
  if (slowdowns.empty()) return std::nullopt;
  double sum = 0, squares = 0;
  for (const double slowdown : slowdowns) {
    sum += 1 / slowdown;
    squares += 1 / (slowdown * slowdown);
  }
  return sum * sum / (static_cast<double>(slowdowns.size()) * squares);
}

}  // namespace allreplay
