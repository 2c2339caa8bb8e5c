// What tuning may choose: ranges of options, and the unit cube that stands for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

/// The values of one option between two ends, on a logarithmic scale; or some values of it.
struct Range {
  enum class Kind : std::uint8_t { Count, Size, Duration, Choice };
  std::string option;
  Kind kind = Kind::Count;
  double low = 1, high = 1;         ///< a count, bytes, or seconds; 0 < low < high
  std::vector<std::string> values;  ///< Choice: at least two, the option's default first if it is among them
};

/// "partition=64KiB:16MiB" as a range, "reshard=all,none" as a choice of an option that `strategy` reads. Throws
/// InputError at `place`: unknown option, a range that is empty, reversed or not above zero, or a value that is none.
Range parse_range(const std::string& text, const Strategy& strategy, const SourceLocation& place);

/// Those of the strategy's options that can be tuned and are not set, over values that make sense for the scenario;
/// none for some strategies.
std::vector<Range> default_ranges(const Scenario& scenario);

/// Whether default_ranges() chooses among the option's words, or a few of its values.
bool tuned_by_choice(std::string_view option);

/// What the scenario has of an option, as one of the range's values where it can be.
std::string given_value(const Scenario& scenario, const Range& range);

/// The option's text at `x` in [0, 1], rounded to a value that people would write: the ends exactly, between them
/// whole counts, whole KiB or MiB, tens of microseconds.
std::string value_at(const Range& range, double x);

/// Where in [0, 1] a value lies; outside when the value does; NaN when it is of another kind.
double place_of(const Range& range, const std::string& value);

}  // namespace allreplay
