// Quantities as users write them: a number, an optional space, a unit. "45 us", "1.97 ns/B", "10 Gbit/s",
// "25 MiB". Decimal prefixes are powers of 1000, binary ones (KiB, MiB, GiB) of 1024.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/base/core/time.hpp"

namespace allreplay {

using Bytes = std::int64_t;

/// Bytes on the wire; a share of a block need not be a whole number.
struct WireBytes {
  double count = 0;

  WireBytes(double bytes) : count(bytes) {}  // NOLINT(*-explicit-*): converts like a number
  template <std::integral T>
  WireBytes(T bytes) : count(static_cast<double>(bytes)) {}  // NOLINT(*-explicit-*)
  operator double() const { return count; }                  // NOLINT(*-explicit-*)
  bool operator==(const WireBytes&) const = default;
};

// Each throws InputError at `place` unless `text` is a finite number >= 0 with a suitable unit.
double parse_duration(std::string_view text, const SourceLocation& place);  ///< seconds
Bytes parse_size(std::string_view text, const SourceLocation& place);       ///< bytes, rounded to the nearest
double parse_rate(std::string_view text, const SourceLocation& place);      ///< bytes per second
double parse_per_byte(std::string_view text, const SourceLocation& place);  ///< seconds per byte

/// A number without a unit. Throws InputError unless all of `text` is a finite number.
double parse_number(std::string_view text, const SourceLocation& place);
/// Parses a whole number in [least, most]. Throws InputError.
std::int64_t parse_integer(std::string_view text, std::int64_t least, std::int64_t most, const SourceLocation& place);

/// "100 MB": that size. "8B:1GiB:x2": from 8 B to 1 GiB, each twice the previous one. Throws InputError at `place`.
std::vector<Bytes> parse_sizes(std::string_view text, const SourceLocation& place);

/// The unit in which a value is shown: {1e-3, "ms"} for 0.4 s.
struct FittingUnit {
  double size;
  std::string_view name;
};
FittingUnit unit_of_duration(double seconds);
FittingUnit unit_of_size(double bytes);  ///< decimal, as for everything measured or computed
FittingUnit unit_of_rate(double bytes_per_second);

// For people: up to four significant digits and a suitable unit.
std::string format_duration(double seconds);
std::string format_long_duration(double seconds);  ///< from two minutes on in minutes, hours or days
std::string format_size(Bytes bytes);
std::string format_rate(double bytes_per_second);  ///< in bit/s, as is usual for networks

// Exact, for files: in the largest unit, binary or decimal, that gives a whole number.
std::string write_size(Bytes bytes);
std::string write_duration(Time time);
std::string write_us(Time time);  ///< microseconds without a unit, with all picoseconds

}  // namespace allreplay
