// Finds the least or the most of ordered values that meets a target: by bisection where the measured quantity is
// monotone, else by a scan.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace allreplay {

struct BoundarySearch {
  std::size_t count = 0;  ///< number of values, at least one; they are known by their indices
  /// Measures the quantity at these values; nothing for a value that is not possible.
  std::function<std::vector<std::optional<double>>(const std::vector<std::size_t>&)> measure;
  std::function<bool(double)> meets;  ///< the target: a threshold
  bool prefers_least = true;          ///< the answer if all values meet the target, or neither end does
  std::size_t most_scanned = 33;  ///< evenly spaced values that a scan measures, before it bisects between two of them
};

struct Boundary {
  std::optional<std::size_t> answer;  ///< nothing if no measured value meets the target
  bool is_least = true;               ///< the least value that meets the target, else the most
  bool is_monotone = true;            ///< at the values that were measured; else they were scanned
  bool all_meet = false;              ///< all measured values meet it
  std::map<std::size_t, std::optional<double>> measured;
};

/// Measures both ends and the middle. If the middle lies between the ends, and each further value between those around
/// it, bisects; otherwise scans.
Boundary find_boundary(const BoundarySearch& search);

}  // namespace allreplay
