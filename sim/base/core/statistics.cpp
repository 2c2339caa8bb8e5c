#include "sim/base/core/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <boost/math/distributions/students_t.hpp>

namespace allreplay {

Summary summary_of(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const auto quantile = [&](double p) {
    const double place = p * static_cast<double>(sorted.size() - 1), below = std::floor(place);
    const auto at = static_cast<std::size_t>(below);
    return std::lerp(sorted[at], sorted[std::min(at + 1, sorted.size() - 1)], place - below);
  };
  const auto count = static_cast<double>(sorted.size());
  Summary summary{.count = sorted.size(),
                  .mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count,
                  .least = sorted.front(),
                  .p25 = quantile(0.25),
                  .median = quantile(0.5),
                  .p75 = quantile(0.75),
                  .p95 = quantile(0.95),
                  .most = sorted.back()};
  if (sorted.front() == sorted.back()) summary.mean = sorted.front();  // not rounded: one value is itself
  if (sorted.size() < 2) return summary;
  double squares = 0;
  for (const double value : sorted) squares += (value - summary.mean) * (value - summary.mean);
  summary.deviation = std::sqrt(squares / (count - 1));
  const boost::math::students_t t(count - 1);
  summary.confidence = boost::math::quantile(t, 0.975) * *summary.deviation / std::sqrt(count);
  return summary;
}

}  // namespace allreplay
