// Iterations that were measured, and what they come to.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/core/time.hpp"

namespace allreplay {

/// All in seconds.
struct MeasuredTimes {
  std::vector<double> each;  ///< in their order
  double mean = 0, least = 0, most = 0, p50 = 0, p99 = 0;
};

/// `mean`: of a steady period its length by the number of its iterations, else none. None where nothing was measured.
std::optional<MeasuredTimes> measured_times(std::span<const Time> iterations,
                                            std::optional<double> mean = std::nullopt);

/// By nearest rank: number ⌈p·n⌉ of the n sorted values. REQUIRES: at least one.
double quantile(std::span<const double> sorted, double p);

/// (Σ 1/s)² / (n · Σ 1/s²), one where all slow-downs s are alike (Jain, Chiu and Hawe 1984). None without any.
std::optional<double> fairness(std::span<const double> slowdowns);

}  // namespace allreplay
