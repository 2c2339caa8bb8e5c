// Statistics of measured iteration times.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/base/core/time.hpp"

namespace allreplay {

/// All in seconds.
struct MeasuredTimes {
  std::vector<double> each;  ///< in the order of iterations
  double mean = 0, least = 0, most = 0, p50 = 0, p99 = 0;
};

/// `mean`: of a steady run, its period divided by the number of iterations in it; without it the mean is computed.
/// Returns none if nothing was measured.
std::optional<MeasuredTimes> measured_times(std::span<const Time> iterations,
                                            std::optional<double> mean = std::nullopt);

/// The p-quantile by nearest rank: number ⌈p·n⌉ of the n sorted values. REQUIRES: at least one value.
double quantile(std::span<const double> sorted, double p);

/// Jain's index (Σ 1/s)² / (n · Σ 1/s²) of the slow-downs s (Jain, Chiu and Hawe 1984); none without any.
std::optional<double> fairness(std::span<const double> slowdowns);

}  // namespace allreplay
