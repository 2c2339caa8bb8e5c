// Fits constants of a cluster file, such as α, β and jitter, to a measured job.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/inputs/workload/profile.hpp"
#include "sim/studies/calibration/calibration.hpp"
#include "sim/studies/diagnosis/diagnosis.hpp"

namespace allreplay {

/// A constant, and the number of events that it is fitted to.
struct JobConstant {
  double value = 0;
  std::size_t events = 0;
};

struct FittedJob {
  Calibration collectives;            ///< α and β, fitted to durations (from the last start) by size
  std::optional<JobConstant> launch;  ///< seconds: median gap between a collective's dependencies and its start
  /// The ranks that are slow in every step, and their compute time over that of the median rank.
  std::vector<std::pair<std::uint32_t, double>> stragglers;
  std::optional<JobConstant> sigma;  ///< relative standard deviation of the other ranks' mean compute times
};

/// Throws InputError if fewer than two sizes of collectives are known.
FittedJob fit_job(const Diagnosis& known);

/// A cluster file with the constants. Throws InputError at `place` if times do not grow with the size.
std::string fitted_cluster(const FittedJob& fitted, const Diagnosis& known, const std::string& name,
                           const SourceLocation& place);

/// Returns the replica with the median compute time.
std::uint32_t median_replica(const Diagnosis& known);

struct UnitProfile {
  Profile profile;
  std::vector<std::string> notes;
};

/// Times are means over the steps and micro-batches of one replica; parameters are those that were gathered. Throws
/// InputError at `place` if the size of a gather is not known. REQUIRES: the job is sharded.
UnitProfile profile_of_units(const Diagnosis& known, std::uint32_t replica, const SourceLocation& place);

}  // namespace allreplay
