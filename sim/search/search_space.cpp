#include "sim/search/search_space.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace allreplay {

namespace {

constexpr double kib = 1024, mib = 1024 * kib;

Range::Kind kind_of(const OptionRow& option) {
  switch (option.kind) {
    case OptionKind::Size:
      return Range::Kind::Size;
    case OptionKind::Duration:
      return Range::Kind::Duration;
    default:
      return Range::Kind::Count;
  }
}

double parse_value(const std::string& text, Range::Kind kind, const Place& place) {
  switch (kind) {
    case Range::Kind::Count:
      return static_cast<double>(parse_integer(text, 1, 1'000'000'000, place));
    case Range::Kind::Size:
      return static_cast<double>(parse_size(text, place));
    case Range::Kind::Duration:
      return parse_duration(text, place);
  }
  return 0;
}

std::string write_value(double value, Range::Kind kind) {
  switch (kind) {
    case Range::Kind::Count:
      return std::to_string(std::llround(value));
    case Range::Kind::Size:
      return write_size(std::llround(value));
    case Range::Kind::Duration:
      return write_duration(to_time(value));
  }
  return "";
}

double rounded(double value, Range::Kind kind) {
  double step = 1;
  if (kind == Range::Kind::Size)
    step = value >= 8 * mib ? mib : value >= 512 * kib ? 64 * kib : value >= 32 * kib ? 4 * kib : 4;
  if (kind == Range::Kind::Duration) step = value >= 1e-3 ? 100e-6 : value >= 100e-6 ? 10e-6 : 1e-9;
  return std::round(value / step) * step;
}

}  // namespace

Range parse_range(const std::string& text, const Strategy& strategy, const Place& place) {
  const std::size_t equals = text.find('='), colon = text.find(':', equals == std::string::npos ? 0 : equals);
  if (equals == std::string::npos || colon == std::string::npos)
    throw InputError(place, fmt::format("'{}' is no range", text), "key=lo:hi, such as partition=256KiB:16MiB");
  const std::string option = text.substr(0, equals), low = text.substr(equals + 1, colon - equals - 1),
                    high = text.substr(colon + 1);
  std::vector<std::string> names;
  const OptionRow* known = nullptr;
  for (const OptionRow* row : tunable_options(strategy)) {
    if (row->name == option) known = row;
    names.emplace_back(row->name);
  }
  if (!known)
    throw InputError(place, fmt::format("'{}' is not an option to tune of {}", option, strategy.name),
                     names.empty() ? "it has none" : suggest(option, names));
  Range range{option, kind_of(*known)};
  // A credit can be a number of blocks or of bytes.
  if (range.kind == Range::Kind::Count && low.find_first_not_of("0123456789+-. ") != std::string::npos)
    range.kind = Range::Kind::Size;
  range.low = parse_value(low, range.kind, place);
  range.high = parse_value(high, range.kind, place);
  if (range.low <= 0) throw InputError(place, fmt::format("{} starts at nothing", text), "a range above zero");
  if (range.low == range.high)
    throw InputError(place, fmt::format("{} holds one value only", text),
                     fmt::format("--option {}={} sets it", option, low));
  if (range.low > range.high)
    throw InputError(place, fmt::format("{} is reversed", text), fmt::format("{}={}:{}", option, high, low));
  return range;
}

std::vector<Range> default_ranges(const Strategy& strategy, const Profile& profile) {
  std::vector<Range> ranges;
  for (const OptionRow* row : tunable_options(strategy)) {
    Range range{std::string(row->name), kind_of(*row), row->tuned->low, row->tuned->high};
    // Above all gradients together, sizes do not differ.
    if (range.kind == Range::Kind::Size)
      range.high =
          std::max(2 * range.low, std::min(range.high, std::ceil(static_cast<double>(profile.bytes()) / mib) * mib));
    ranges.push_back(range);
  }
  return ranges;
}

std::string value_at(const Range& range, double x) {
  if (x <= 0) return write_value(range.low, range.kind);
  if (x >= 1) return write_value(range.high, range.kind);
  const double value = std::exp(std::log(range.low) + x * (std::log(range.high) - std::log(range.low)));
  return write_value(std::clamp(rounded(value, range.kind), range.low, range.high), range.kind);
}

double place_of(const Range& range, const std::string& value) {
  double number = 0;
  try {
    number = parse_value(value, range.kind, {});
  } catch (const InputError&) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return (std::log(number) - std::log(range.low)) / (std::log(range.high) - std::log(range.low));
}

}  // namespace allreplay
