// Scales compute times so that a simulated run has a measured speed.
#pragma once

#include <string>

#include "sim/experiment/run.hpp"

namespace allreplay {

/// The measured speed of one worker, in any unit.
struct KnownSpeed {
  double value = 0;       ///< in the unit
  double per_sample = 1;  ///< units per sample, such as 2048 tokens
  std::string unit;       ///< "tokens/s"
  SourceLocation place;   ///< where it was given

  double samples_per_s() const { return value / per_sample; }
  std::string text() const { return text(value); }  ///< "4800 tokens/s"
  std::string text(double other) const;             ///< another value in this unit
};

struct AtSpeed {
  double factor = 1;   ///< on the forward and backward times of all layers
  Outcome outcome;     ///< of the setting with these times
  std::string note{};  ///< the nearest speeds, if no factor gives that speed because the plan changes
};

/// Multiplies the times of all layers by the one factor that makes the simulated run as fast as `known`, to 10⁻⁶; the
/// update stays the same. If the plan of a strategy that depends on times changes and leaves a gap, the nearest speed
/// is taken, and a note says so. Throws InputError as run() does, and at the speed's place if computation would need
/// less than no time. REQUIRES: a profile with a batch size.
AtSpeed at_speed(const Scenario& setting, const KnownSpeed& known);

}  // namespace allreplay
