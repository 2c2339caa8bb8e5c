// Reports the progress of long work to its caller.
#pragma once

#include <cstddef>
#include <functional>

namespace allreplay {

/// Receives the number of steps of some work, and returns the function to call after each, never concurrently; both
/// may be empty.
using Watch = std::function<std::function<void()>(std::size_t steps)>;

/// watch(steps), or nothing if it is empty.
inline std::function<void()> watched(const Watch& watch, std::size_t steps) {
  return watch ? watch(steps) : std::function<void()>();
}

}  // namespace allreplay
