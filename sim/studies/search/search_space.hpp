// The search space of tuning: ranges of options, mapped to the unit cube.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/replay/training/simulate.hpp"

namespace allreplay {

/// The values of one option between two ends, on a logarithmic scale, or a list of values.
struct Range {
  enum class Kind : std::uint8_t { Count, Size, Duration, Choice };
  std::string option;
  Kind kind = Kind::Count;
  double low = 1, high = 1;         ///< a count, bytes, or seconds; 0 < low < high
  std::vector<std::string> values;  ///< Choice: at least two, the option's default first if it is among them
};

/// Parses a range, "partition=64KiB:16MiB", or a choice, "reshard=all,none", of an option that `strategy` reads. Throws
/// InputError at `place` for an unknown option, a range that is empty, reversed or not above zero, or an invalid value.
Range parse_range(const std::string& text, const Strategy& strategy, const SourceLocation& place);

/// Returns ranges of the strategy's options that can be tuned and are not set, with useful values; may be empty.
std::vector<Range> default_ranges(const Scenario& scenario);

/// True if default_ranges() makes a choice, not a range, for the option.
bool tuned_by_choice(std::string_view option);

/// Returns the scenario's value of the range's option; for a choice that is not set, the first value.
std::string given_value(const Scenario& scenario, const Range& range);

/// Returns the option's text at `x` in [0, 1]; between the ends, the value is rounded to what users would write.
std::string value_at(const Range& range, double x);

/// Returns the position of a value in [0, 1]; outside of it if the value is not in the range, NaN for another kind.
double place_of(const Range& range, const std::string& value);

}  // namespace allreplay
