// The time for which a collective keeps the links of each level busy.
#pragma once

namespace allreplay {

/// For links inside hosts, and for all others; seconds per byte.
struct LevelBusy {
  double inside = 0, between = 0;

  LevelBusy times(double factor) const { return {inside * factor, between * factor}; }
  void operator+=(const LevelBusy& other) { inside += other.inside, between += other.between; }
};

}  // namespace allreplay
