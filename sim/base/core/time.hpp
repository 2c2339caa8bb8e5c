// Simulated time in whole picoseconds: ties are exact, and sums do not depend on their order. 64 bits hold 106 days.
#pragma once

#include <chrono>
#include <cstdint>
#include <ratio>

namespace allreplay {

using Time = std::chrono::duration<std::int64_t, std::pico>;

/// No such instant; compares later than all others.
inline constexpr Time never = Time::max();

[[noreturn]] void throw_time_overflow();

/// The nearest whole picosecond. Throws TimeOverflow outside the range of Time, and for NaN.
inline Time from_picoseconds(double picoseconds) {
  if (!(picoseconds > -9.2e18 && picoseconds < 9.2e18)) throw_time_overflow();
  return Time(static_cast<std::int64_t>(picoseconds < 0 ? picoseconds - 0.5 : picoseconds + 0.5));
}

inline Time to_time(double seconds) { return from_picoseconds(seconds * 1e12); }

/// `time` times `factor` >= 0, to the nearest picosecond. Throws TimeOverflow.
inline Time scaled(Time time, double factor) { return from_picoseconds(static_cast<double>(time.count()) * factor); }

constexpr double to_seconds(Time time) { return static_cast<double>(time.count()) / 1e12; }

/// a + b. Throws TimeOverflow instead of wrapping around.
inline Time add(Time a, Time b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a.count(), b.count(), &sum)) throw_time_overflow();
  return Time(sum);
}

/// time * count. Throws TimeOverflow instead of wrapping around.
inline Time multiplied(Time time, std::int64_t count) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(time.count(), count, &product)) throw_time_overflow();
  return Time(product);
}

}  // namespace allreplay
