// Scales compute times so that a simulated run has a measured speed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/studies/experiment/run.hpp"

namespace allreplay {

/// The measured speed of one worker, in any unit.
struct KnownSpeed {
  double value = 0;        ///< in the unit
  double per_sample = 1;   ///< units per sample, such as 2048 tokens
  std::string unit;        ///< "tokens/s"
  SourceLocation place;    ///< where it was given
  std::int64_t batch = 0;  ///< samples of a mini-batch in the measurement

  double samples_per_s() const { return value / per_sample; }
  std::string text() const { return text(value); }  ///< "4800 tokens/s"
  std::string text(double other) const;             ///< another value in this unit
};

/// A measured speed, and the setting in which it was measured.
struct MeasuredSetting {
  Scenario setting;
  KnownSpeed known;
  std::vector<LayerStarts> starts;
};

/// A rate of computing and a host that explain several speeds, by least squares of the relative errors.
struct RateAndFloor {
  double factor = 1;             ///< on the times of all layers, as in AtSpeed
  Time floor{0};                 ///< of a block's forward pass (set_block_floor()); 0: the host needs no time
  std::vector<double> errors{};  ///< by speed: what remains, positive if the simulation is slower
};

/// REQUIRES: at least two speeds, with different batches. Throws InputError like at_speed().
RateAndFloor rate_and_floor(std::span<const MeasuredSetting> speeds);

struct AtSpeed {
  double factor = 1;   ///< on the forward and backward times of all layers, without starts of kernels
  Outcome outcome;     ///< of the setting with these times
  std::string note{};  ///< the nearest speeds, if no factor gives that speed because the plan changes
};

/// Multiplies the times of all layers, except the starts of kernels (by layer; empty: none are known), by the one
/// factor that makes the simulated run as fast as `known`, to 10⁻⁶; the update stays the same. If the plan of a
/// strategy that depends on times changes and leaves a gap, the nearest speed is taken, and a note says so. Throws
/// InputError as run() does, and at the speed's place if computation would need less than no time. REQUIRES: a profile
/// with a batch size.
AtSpeed at_speed(const Scenario& setting, const KnownSpeed& known, std::span<const LayerStarts> starts = {});

/// Returns a note on a speed so far below the roofline that its unit may be wrong; "" if it is not. `share`: of the
/// roofline. `factor`: how many times longer than usual the computation takes.
std::string note_on_unit(const KnownSpeed& known, double share, double factor);

}  // namespace allreplay
