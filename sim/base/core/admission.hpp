// Admission to a queue: the order and the window that a plan states and that the engine's queues apply.
#pragma once

#include <cstdint>
#include <limits>

namespace allreplay {

/// The rule by which a queue chooses the next of its ready tasks.
enum class Order : std::uint8_t {
  FirstReady,  ///< the one that became ready first; ties as listed
  AsListed,    ///< strictly as listed: a ready task waits for all tasks listed before it
  Priority,    ///< the one with the smallest priority; ties as listed
};

/// A task is admitted while fewer than `count` tasks and `bytes` bytes are in flight, itself not counted.
struct Window {
  static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
  std::int64_t count = 1;
  std::int64_t bytes = unlimited;
  bool operator==(const Window&) const = default;
};

}  // namespace allreplay
