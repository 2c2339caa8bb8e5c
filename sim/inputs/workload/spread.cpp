#include <cmath>

#include "sim/inputs/workload/stragglers.hpp"

namespace allreplay {

double Spread::factor(double z) const { return deviation(kind, sigma, z); }

double Spread::of(std::int64_t worker) const {
  return factor(Random(*seed, static_cast<std::uint64_t>(worker)).normal());
}

// The largest of N has the density N·φ(z)·Φ(z)^(N−1). It is analytic and vanishes at both ends, so that the trapezoidal
// rule converges faster than any power of its step (Trefethen and Weideman, SIAM Review 2014).
double Spread::expected_largest(std::int64_t workers) const {
  if (sigma == 0) return 1;
  constexpr double step = 1.0 / 64, end = 12;
  const double density = static_cast<double>(workers) / std::sqrt(2 * M_PI);
  double sum = 0;
  for (int i = -static_cast<int>(end / step); i <= static_cast<int>(end / step); ++i) {
    const double z = i * step, above = std::erfc(z / M_SQRT2) / 2;
    const double others = workers == 1 ? 1 : std::exp(static_cast<double>(workers - 1) * std::log1p(-above));
    const double value = kind == JitterKind::LogNormal ? std::exp(sigma * z - sigma * sigma / 2) : z;
    sum += value * std::exp(-z * z / 2) * others;
  }
  const double mean = sum * density * step;
  return kind == JitterKind::LogNormal ? mean : 1 + sigma * mean;
}

}  // namespace allreplay
