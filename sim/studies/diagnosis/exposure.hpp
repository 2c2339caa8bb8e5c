// The time for which the compute streams of a sharded job wait for gathers and reductions, and why.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/studies/diagnosis/job_replay.hpp"

namespace allreplay {

/// Seconds per step, mean over ranks.
struct ExposedTime {
  double late_rank_s = 0;  ///< a rank had not arrived
  double transfer_s = 0;   ///< all had arrived
  double gap_s = 0;        ///< this rank had not arrived itself, and none of its transfers was in the way
  double total_s() const { return late_rank_s + transfer_s + gap_s; }
};

/// The collectives of a kind and unit.
struct UnitExposure {
  ExposedTime exposed;
  double length_s = 0;  ///< the median from the last arrival to the first end
};

struct Exposure {
  ExposedTime gathers, reductions;
  std::map<std::pair<std::uint32_t, OpKind>, UnitExposure> units;  ///< by unit and kind
  std::vector<double> waited_for_s;  ///< by replica, the part of late_rank_s for which it arrived last
};

/// REQUIRES: the job is sharded.
Exposure exposure_of(const MeasuredSteps& job);

}  // namespace allreplay
