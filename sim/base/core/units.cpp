#include "sim/base/core/units.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

struct Unit {
  std::string_view name;
  double scale;  // in the base unit of its kind: seconds, bytes, bytes/s or s/B
};

struct Kind {
  std::string_view noun;
  std::string_view example;
  std::span<const Unit> units;
};

constexpr Unit durations[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"ps", 1e-12}};
constexpr Unit sizes[] = {{"B", 1},     {"kB", 1e3},   {"MB", 1e6},           {"GB", 1e9},
                          {"TB", 1e12}, {"KiB", 1024}, {"MiB", 1024. * 1024}, {"GiB", 1024. * 1024 * 1024}};
constexpr Unit rates[] = {{"bit/s", 1. / 8},    {"kbit/s", 1e3 / 8}, {"Mbit/s", 1e6 / 8}, {"Gbit/s", 1e9 / 8},
                          {"Tbit/s", 1e12 / 8}, {"Mbps", 1e6 / 8},   {"Gbps", 1e9 / 8},   {"Tbps", 1e12 / 8},
                          {"B/s", 1},           {"kB/s", 1e3},       {"MB/s", 1e6},       {"GB/s", 1e9},
                          {"TB/s", 1e12}};
constexpr Unit per_bytes[] = {{"s/B", 1}, {"ms/B", 1e-3}, {"us/B", 1e-6}, {"ns/B", 1e-9}, {"ps/B", 1e-12}};

constexpr Kind duration_kind{"a duration", "45 us", durations};
constexpr Kind size_kind{"a size", "25 MiB", sizes};
constexpr Kind rate_kind{"a rate", "10 Gbit/s", rates};
constexpr Kind per_byte_kind{"a time per byte", "1.97 ns/B", per_bytes};

std::string right(const Kind& kind) {
  std::vector<std::string_view> names;
  for (const Unit& unit : kind.units) names.push_back(unit.name);
  return fmt::format("{} such as \"{}\"; units: {}", kind.noun, kind.example, fmt::join(names, ", "));
}

// Our unit for another spelling, such as "Gb/s", "GBps" or "gbit/s"; "" if none is known. Among rates, case is ignored
// only for "bit/s", since "gb/s" may mean bits or bytes.
std::string suggested_unit(std::string_view name, const Kind& kind) {
  for (const Unit& unit : kind.units)
    if (lower_case(name) == lower_case(unit.name) &&
        (unit.name.ends_with("bit/s") || !(unit.name.ends_with("/s") || unit.name.ends_with("bps"))))
      return std::string(unit.name);
  for (const auto& [others, ours] : {std::pair("bps", "bit/s"), {"b/s", "bit/s"}, {"Bps", "B/s"}})
    if (name.ends_with(others)) {
      const std::string right = std::string(name.substr(0, name.size() - 3)) + ours;
      for (const Unit& unit : kind.units)
        if (unit.name == right) return right;
    }
  return "";
}

double parse(std::string_view text, const Kind& kind, const SourceLocation& place) {
  const std::string_view trimmed = trim(text);
  double number = 0;
  const auto [rest, error] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  if (error == std::errc::result_out_of_range)
    throw InputError(place, fmt::format("\"{}\" is out of range", text), right(kind));
  if (error != std::errc() || std::isnan(number))
    throw InputError(place, fmt::format("\"{}\" is not {}", text, kind.noun), right(kind));
  const std::string_view name = trim(trimmed.substr(static_cast<std::size_t>(rest - trimmed.data())));
  if (number < 0) throw InputError(place, fmt::format("\"{}\" is negative", text), right(kind));
  for (const Unit& unit : kind.units) {
    if (unit.name != name) continue;
    const double value = number * unit.scale;
    if (!std::isfinite(value)) throw InputError(place, fmt::format("\"{}\" is out of range", text), right(kind));
    return value;
  }
  const std::string wrong =
      name.empty() ? fmt::format("\"{}\" has no unit", text)
                   : fmt::format("\"{}\" has the unit '{}', which is not one of {}", text, name, kind.noun);
  const std::string meant = suggested_unit(name, kind);
  throw InputError(place, wrong, meant.empty() ? right(kind) : fmt::format("\"{} {}\"", number, meant));
}

}  // namespace

double parse_duration(std::string_view text, const SourceLocation& place) { return parse(text, duration_kind, place); }
double parse_rate(std::string_view text, const SourceLocation& place) { return parse(text, rate_kind, place); }
double parse_per_byte(std::string_view text, const SourceLocation& place) { return parse(text, per_byte_kind, place); }

Bytes parse_size(std::string_view text, const SourceLocation& place) {
  const double bytes = parse(text, size_kind, place);
  if (bytes > 1e18) throw InputError(place, fmt::format("\"{}\" is too large", text), "at most 1e9 GB");
  return std::llround(bytes);
}

double parse_number(std::string_view text, const SourceLocation& place) {
  const std::string_view trimmed = trim(text);
  double number = 0;
  const auto [rest, error] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  if (error != std::errc() || rest != trimmed.data() + trimmed.size() || !std::isfinite(number))
    throw InputError(place, fmt::format("'{}' is not a finite number", text),
                     trimmed.ends_with('%') ? "80 % is 0.8" : "a number such as 0.5");
  return number + 0.0;  // -0 is 0: dividing by it gives no -infinity
}

std::int64_t parse_integer(std::string_view text, std::int64_t least, std::int64_t most, const SourceLocation& place) {
  const std::string_view trimmed = trim(text);
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  if (error != std::errc() || rest != trimmed.data() + trimmed.size() || number < least || number > most)
    throw InputError(place, fmt::format("'{}' is not a whole number from {} to {}", text, least, most),
                     fmt::format("such as {}", least));
  return number;
}

std::vector<Bytes> parse_sizes(std::string_view text, const SourceLocation& place) {
  constexpr std::string_view known = "one size, or a range like 8B:1GiB:x2";
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos) {
    const Bytes bytes = parse_size(text, place);
    if (bytes < 1) throw InputError(place, fmt::format("'{}' is not a number of bytes to send", text), known);
    return {bytes};
  }
  const std::size_t second = std::min(text.find(':', first + 1), text.size());
  const std::string_view low = text.substr(0, first), high = text.substr(first + 1, second - first - 1),
                         step = second < text.size() ? text.substr(second + 1) : "";
  if (!step.empty() && !step.starts_with('x'))
    throw InputError(place, fmt::format("'{}' is not a range of sizes", text), known);
  const Bytes from = parse_size(low, place), to = parse_size(high, place);
  const auto ascending = [&](std::string_view factor) {
    return fmt::format("{}:{}:{}", from > to ? high : low, from > to ? low : high, factor);
  };
  if (step.empty()) throw InputError(place, fmt::format("'{}' has no factor", text), ascending("x2"));
  const double factor = parse_number(step.substr(1), place);
  if (!(factor > 1)) throw InputError(place, fmt::format("'{}' has no factor above 1", text), ascending("x2"));
  if (from > to) throw InputError(place, fmt::format("'{}' is reversed", text), ascending(step));
  if (from < 1) throw InputError(place, fmt::format("'{}' begins below one byte", text), known);
  std::vector<Bytes> all;
  for (double size = static_cast<double>(from); size <= static_cast<double>(to); size *= factor) {
    const auto bytes = static_cast<Bytes>(std::llround(size));
    if (all.empty() || bytes > all.back()) all.push_back(bytes);
    if (all.size() > 10'000)
      throw InputError(place, fmt::format("'{}' has more than 10000 sizes", text), "a larger factor");
  }
  return all;
}

namespace {

// The largest unit in which the value, rounded to four digits, is at least 1. `units`: largest first.
FittingUnit fitting(double value, std::span<const FittingUnit> units) {
  for (const FittingUnit& unit : units)
    if (std::abs(value) >= unit.size * 0.99995) return unit;
  return units.back();
}

std::string format(double value, const FittingUnit& unit) {
  return fmt::format("{:.4g} {}", value / unit.size, unit.name);
}

constexpr FittingUnit fitting_durations[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}, {1e-12, "ps"}};
constexpr FittingUnit fitting_sizes[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
constexpr FittingUnit fitting_rates[] = {
    {1e12 / 8, "Tbit/s"}, {1e9 / 8, "Gbit/s"}, {1e6 / 8, "Mbit/s"}, {1e3 / 8, "kbit/s"}, {1. / 8, "bit/s"}};

}  // namespace

FittingUnit unit_of_duration(double seconds) { return fitting(seconds, fitting_durations); }
FittingUnit unit_of_size(double bytes) { return fitting(bytes, fitting_sizes); }
FittingUnit unit_of_rate(double bytes_per_second) { return fitting(bytes_per_second, fitting_rates); }

std::string format_duration(double seconds) {
  return seconds == 0 ? "0 s" : format(seconds, unit_of_duration(seconds));
}

std::string format_long_duration(double seconds) {
  for (const FittingUnit& unit : {FittingUnit{86400, "d"}, FittingUnit{3600, "h"}, FittingUnit{60, "min"}})
    if (seconds >= 1e4 * unit.size)
      return fmt::format("{:.0f} {}", seconds / unit.size, unit.name);
    else if (seconds >= 2 * unit.size)
      return format(seconds, unit);
  return format_duration(seconds);
}

std::string format_size(Bytes bytes) {
  return format(static_cast<double>(bytes), unit_of_size(static_cast<double>(bytes)));
}

std::string format_rate(double bytes_per_second) { return format(bytes_per_second, unit_of_rate(bytes_per_second)); }

namespace {

struct Whole {
  std::int64_t count;
  std::string_view unit;
};

std::string write_whole(std::int64_t value, std::span<const Whole> units) {  // largest first, the last of count 1
  for (const Whole& unit : units)
    if (value % unit.count == 0 && value != 0) return fmt::format("{} {}", value / unit.count, unit.unit);
  return fmt::format("{} {}", value, units.back().unit);
}

}  // namespace

std::string write_size(Bytes bytes) {
  static constexpr Whole units[] = {{1 << 30, "GiB"}, {1'000'000'000, "GB"}, {1 << 20, "MiB"}, {1'000'000, "MB"},
                                    {1 << 10, "KiB"}, {1'000, "kB"},         {1, "B"}};
  return write_whole(bytes, units);
}

std::string write_duration(Time time) {
  static constexpr Whole units[] = {
      {1'000'000'000'000, "s"}, {1'000'000'000, "ms"}, {1'000'000, "us"}, {1'000, "ns"}, {1, "ps"}};
  return write_whole(time.count(), units);
}

std::string write_us(Time time) {
  std::string text = fmt::format("{}.{:06}", time.count() / 1'000'000, time.count() % 1'000'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace allreplay
