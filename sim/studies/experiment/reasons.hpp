// Explains an iteration time: how much of it is exposed communication, and why.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/base/core/named.hpp"
#include "sim/studies/experiment/run.hpp"

namespace allreplay {

/// A cause of a part of the iteration time.
enum class Bound : std::uint8_t { Computing, Stragglers, Traffic, FirstLayer, StartUps, Copies, Schedule };
inline constexpr Word<Bound> bounds[] = {
    {Bound::Computing, "computing"},    {Bound::Stragglers, "stragglers"}, {Bound::Traffic, "bytes"},
    {Bound::FirstLayer, "first layer"}, {Bound::StartUps, "start-ups"},    {Bound::Copies, "copies"},
    {Bound::Schedule, "schedule"},
};
inline constexpr std::size_t bound_count = std::size(bounds);

/// Seconds by Bound, which add up to the iteration time. All but the first are exposed: the additional computation of
/// the slowest worker; copies; the time beyond these in which bytes alone keep the network busy; the first layer's
/// block, which only earlier layers can hide; the time that a network without start-ups would save with the same plan;
/// and the rest, which the schedule does not overlap.
struct Reasons {
  std::array<double, bound_count> seconds{};

  double of(Bound bound) const { return seconds[static_cast<std::size_t>(bound)]; }
  double& of(Bound bound) { return seconds[static_cast<std::size_t>(bound)]; }
  double exposed() const;
  /// Returns the cause of the largest exposed part; Computing if almost nothing is exposed.
  Bound most() const;
};

/// Replays the outcome's plan without start-ups to separate the causes. REQUIRES: the outcome has its plan.
Reasons reasons_of(const Outcome& outcome);

}  // namespace allreplay
