// What a measured job says of the network and the workers that it ran on: constants for a cluster file.
#pragma once

#include <cstddef>
#include <optional>

#include "sim/calibration/calibration.hpp"
#include "sim/diagnosis/diagnosis.hpp"

namespace allreplay {

/// A constant, and how many events it rests on.
struct JobConstant {
  double value = 0;
  std::size_t events = 0;
};

struct FittedJob {
  Calibration collectives;            ///< α and β: durations from the last start, by size
  std::optional<JobConstant> launch;  ///< seconds: the median gap before a collective that nothing else explains
  std::optional<JobConstant> sigma;   ///< relative deviation of the ranks' mean computing times
};

/// Throws InputError where no size of a collective is known, or a single one.
FittedJob fit_job(const Diagnosis& known);

/// The replica whose computing takes the median time.
std::uint32_t median_replica(const Diagnosis& known);

}  // namespace allreplay
