#include "sim/core/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/text.hpp"

namespace allreplay {

namespace {

struct Unit {
  std::string_view name;
  double scale;  // to the kind's base: seconds, bytes, bytes/s or s/B
};

struct Kind {
  std::string_view noun;
  std::string_view example;
  std::span<const Unit> units;
};

constexpr Unit durations[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"ps", 1e-12}};
constexpr Unit sizes[] = {{"B", 1},
                          {"kB", 1e3},
                          {"MB", 1e6},
                          {"GB", 1e9},
                          {"KiB", 1024},
                          {"MiB", 1024. * 1024},
                          {"GiB", 1024. * 1024 * 1024}};
constexpr Unit rates[] = {{"bit/s", 1. / 8},   {"kbit/s", 1e3 / 8},  {"Mbit/s", 1e6 / 8},
                          {"Gbit/s", 1e9 / 8}, {"Tbit/s", 1e12 / 8}, {"B/s", 1},
                          {"kB/s", 1e3},       {"MB/s", 1e6},        {"GB/s", 1e9}};
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

double parse(std::string_view text, const Kind& kind, const Place& place) {
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
  throw InputError(place, wrong, right(kind));
}

}  // namespace

double parse_duration(std::string_view text, const Place& place) { return parse(text, duration_kind, place); }
double parse_rate(std::string_view text, const Place& place) { return parse(text, rate_kind, place); }
double parse_per_byte(std::string_view text, const Place& place) { return parse(text, per_byte_kind, place); }

Bytes parse_size(std::string_view text, const Place& place) {
  const double bytes = parse(text, size_kind, place);
  if (bytes > 1e18) throw InputError(place, fmt::format("\"{}\" is too large", text), "at most 1e9 GB");
  return std::llround(bytes);
}

double parse_number(std::string_view text, const Place& place) {
  const std::string_view trimmed = trim(text);
  double number = 0;
  const auto [rest, error] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  if (error != std::errc() || rest != trimmed.data() + trimmed.size() || !std::isfinite(number))
    throw InputError(place, fmt::format("'{}' is not a finite number", text),
                     trimmed.ends_with('%') ? "80 % is 0.8" : "a number such as 0.5");
  return number;
}

std::int64_t parse_integer(std::string_view text, std::int64_t least, std::int64_t most, const Place& place) {
  const std::string_view trimmed = trim(text);
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  if (error != std::errc() || rest != trimmed.data() + trimmed.size() || number < least || number > most)
    throw InputError(place, fmt::format("'{}' is not a whole number from {} to {}", text, least, most),
                     fmt::format("such as {}", least));
  return number;
}

namespace {

struct Step {
  double from;  // used for values of at least this much
  std::string_view unit;
};

template <std::size_t n>
std::string format(double value, const std::array<Step, n>& steps) {  // steps: largest first
  for (const Step& step : steps)
    if (std::abs(value) >= step.from * 0.99995) return fmt::format("{:.4g} {}", value / step.from, step.unit);
  return fmt::format("{:.4g} {}", value / steps.back().from, steps.back().unit);
}

}  // namespace

std::string format_duration(double seconds) {
  if (seconds == 0) return "0 s";
  return format(seconds, std::array<Step, 5>{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}, {1e-12, "ps"}}});
}

std::string format_size(Bytes bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes % 1024 == 0 && bytes != 0)
    return format(size, std::array<Step, 3>{{{1024. * 1024 * 1024, "GiB"}, {1024. * 1024, "MiB"}, {1024, "KiB"}}});
  return format(size, std::array<Step, 4>{{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}});
}

std::string format_rate(double bytes_per_second) {
  return format(
      8 * bytes_per_second,
      std::array<Step, 5>{{{1e12, "Tbit/s"}, {1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}, {1, "bit/s"}}});
}

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
