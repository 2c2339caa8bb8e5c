// Statistics of a sample.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace allreplay {

struct Summary {
  std::size_t count = 0;
  double mean = 0;
  double least = 0, p25 = 0, median = 0, p75 = 0, p95 = 0, most = 0;
  std::optional<double> deviation;   ///< the sample's standard deviation, over n − 1; none of one value
  std::optional<double> confidence;  ///< of the mean: half the width of its 95 % interval by Student's t
};

/// Quantiles are interpolated linearly between the sorted values, number 1 + p (n − 1) of n (Hyndman and Fan's type 7,
/// as in NumPy). REQUIRES: at least one value.
Summary summary_of(std::span<const double> values);

}  // namespace allreplay
