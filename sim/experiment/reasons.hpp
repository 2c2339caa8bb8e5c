// Why an iteration takes as long as it does: what of its communication is exposed, and what for.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/core/named.hpp"
#include "sim/experiment/run.hpp"

namespace allreplay {

/// What an iteration may be bound by.
enum class Bound : std::uint8_t { Computing, Stragglers, Traffic, FirstLayer, StartUps, Copies, Schedule };
inline constexpr Word<Bound> bounds[] = {
    {Bound::Computing, "computing"},    {Bound::Stragglers, "stragglers"}, {Bound::Traffic, "bytes"},
    {Bound::FirstLayer, "first layer"}, {Bound::StartUps, "start-ups"},    {Bound::Copies, "copies"},
    {Bound::Schedule, "schedule"},
};
inline constexpr std::size_t bound_count = std::size(bounds);

/// The iteration in parts that add up to it, in seconds, by Bound. All but the first are exposed: the slowest worker's
/// computing beyond an unslowed one's; what the bytes alone keep the network busy beyond that; the first layer's block,
/// of which only the layers before it hide anything; what the same plan would save on a network without start-ups;
/// copies; and what is left, which the schedule does not overlap.
struct Reasons {
  std::array<double, bound_count> seconds{};

  double of(Bound bound) const { return seconds[static_cast<std::size_t>(bound)]; }
  double& of(Bound bound) { return seconds[static_cast<std::size_t>(bound)]; }
  double exposed() const;
  /// The largest part of what is exposed; computing, where that is next to nothing.
  Bound most() const;
};

/// Replays the outcome's plan once more, without start-ups. REQUIRES: the outcome has its plan.
Reasons reasons_of(const Outcome& outcome);

}  // namespace allreplay
