// Words that plans (which ask) and the engine's queues (which obey) share.
#pragma once

#include <cstdint>
#include <limits>

namespace allreplay {

/// Which of the ready goes next.
enum class Order : std::uint8_t {
  FirstReady,  ///< by the instant of becoming ready, then as listed
  AsListed,    ///< strictly as listed: the ready wait for those before them
  Priority,    ///< the smallest priority among the ready, then as listed
};

/// How much may be in flight at once: below `count` tasks, and below `bytes`, so that the last may overshoot.
struct Window {
  static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
  std::int64_t count = 1;
  std::int64_t bytes = unlimited;
  bool operator==(const Window&) const = default;
};

}  // namespace allreplay
