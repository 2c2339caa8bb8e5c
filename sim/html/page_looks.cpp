#include "sim/html/page_looks.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/json_value.hpp"
#include "sim/picture/series_look.hpp"
#include "sim/schedule/strategy.hpp"
#include "sim/view/strategy_looks.hpp"

namespace allreplay {

namespace {

std::string css(Colour colour) { return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue); }

// WCAG's relative luminance, 0 to 1.
double luminance(Colour colour) {
  const auto linear = [](std::uint8_t channel) {
    const double part = channel / 255.0;
    return part <= 0.03928 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
}

// Nearer to white until it stands out from a dark page as the others do from a white one.
Colour for_dark_page(Colour colour) {
  constexpr double bright_enough = 0.25;
  const auto lighter = [](std::uint8_t channel) { return static_cast<std::uint8_t>(channel + (255 - channel) / 8); };
  while (luminance(colour) < bright_enough) colour = {lighter(colour.red), lighter(colour.green), lighter(colour.blue)};
  return colour;
}

// Around 0; a circle has no corners.
std::string svg_path(const std::vector<Position>& marker) {
  constexpr double radius = 4;
  if (marker.empty()) return fmt::format("M{0} 0A{0} {0} 0 1 1 -{0} 0A{0} {0} 0 1 1 {0} 0Z", radius);
  std::string path;
  for (const Position& corner : marker)
    path += fmt::format("{}{:.2f} {:.2f}", path.empty() ? "M" : "L", radius * corner.x, radius * corner.y);
  return path + "Z";
}

// Of upright lines, turned.
std::vector<int> angles(Hatch hatch) {
  switch (hatch) {
    case Hatch::None:
      return {};
    case Hatch::Rising:
      return {45};
    case Hatch::Falling:
      return {135};
    case Hatch::Crossed:
      return {45, 135};
    case Hatch::Level:
      return {90};
    case Hatch::Upright:
      return {0};
  }
  return {};
}

}  // namespace

std::string looks_css() {
  std::string light, dark;
  for (std::size_t place = 0; place < different_looks; ++place) {
    const Colour colour = series_look(place).colour;
    light += fmt::format(" --look-{}: {};", place, css(colour));
    dark += fmt::format(" --look-{}: {};", place, css(for_dark_page(colour)));
  }
  return fmt::format(":root {{{} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{{} }} }}\n", light,
                     dark);
}

std::string looks_json() {
  auto looks = JsonValue::array();
  for (std::size_t place = 0; place < different_looks; ++place) {
    const SeriesLook look = series_look(place);
    looks.push_back({{"dash", fmt::format("{}", fmt::join(look.dashes, " "))},
                     {"marker", svg_path(look.marker)},
                     {"hollow", look.hollow},
                     {"hatch", angles(look.hatch)}});
  }
  auto places = JsonValue::object();
  for (const Strategy& strategy : strategies())
    if (const auto place = look_place(strategy.name)) places[std::string(strategy.name)] = *place;
  return JsonValue{{"looks", looks}, {"strategies", places}}.dump();
}

}  // namespace allreplay
