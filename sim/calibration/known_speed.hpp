// A speed that was measured, and the computing times that give it back where it was measured.
#pragma once

#include <string>

#include "sim/experiment/run.hpp"

namespace allreplay {

/// How fast one worker was, in a unit of its own.
struct KnownSpeed {
  double value = 0;       ///< in the unit
  double per_sample = 1;  ///< of the unit: a sample is 2048 tokens
  std::string unit;       ///< "tokens/s"
  SourceLocation place;   ///< where it was given

  double samples_per_s() const { return value / per_sample; }
  std::string text() const { return text(value); }  ///< "4800 tokens/s"
  std::string text(double other) const;             ///< another value in this unit
};

struct AtSpeed {
  double factor = 1;   ///< what the forward and backward times of all layers were multiplied by
  Outcome outcome;     ///< of the setting with those
  std::string note{};  ///< where the plan changes and no factor gives that speed: which speeds are nearest
};

/// The setting, its layers' times multiplied by the one factor that makes its simulated run as fast as `known`, to 10⁻⁶
/// at the worst; the update stays. Where the plan of a strategy that looks at times changes and leaves a gap, it is the
/// nearest speed, and a note says so. Throws InputError at the speed's place where computing would have to take less
/// than no time, and as run() does.
/// REQUIRES: a profile that says its batch size.
AtSpeed at_speed(const Scenario& setting, const KnownSpeed& known);

}  // namespace allreplay
