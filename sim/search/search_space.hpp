// What tuning may choose: ranges of options, and the unit cube that stands for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

/// The values of one option between two ends, on a logarithmic scale.
struct Range {
  enum class Kind : std::uint8_t { Count, Size, Duration };
  std::string option;
  Kind kind = Kind::Count;
  double low = 1, high = 1;  ///< a count, bytes, or seconds; 0 < low < high
};

/// "partition=64KiB:16MiB" as a range of an option that `strategy` reads. Throws InputError at `place`: unknown
/// option, or a range that is empty, reversed or not above zero.
Range parse_range(const std::string& text, const Strategy& strategy, const Place& place);

/// Those of the strategy's options that can be tuned, over ranges that make sense for its profile; none for some.
std::vector<Range> default_ranges(const Strategy& strategy, const Profile& profile);

/// The option's text at `x` in [0, 1], rounded to a value that people would write: the ends exactly, between them
/// whole counts, whole KiB or MiB, tens of microseconds.
std::string value_at(const Range& range, double x);

/// Where in [0, 1] a value lies; outside when the value does; NaN when it is of another kind.
double place_of(const Range& range, const std::string& value);

}  // namespace allreplay
