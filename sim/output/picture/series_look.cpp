#include "sim/output/picture/series_look.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "sim/output/picture/style.hpp"

namespace allreplay {

namespace {

// Okabe and Ito's, then darker ones in between. Neighbours also differ in lightness.
constexpr std::array series_colours{
    style::blue,      style::vermilion, style::green,     style::black,     style::purple,    style::orange,
    style::sky,       colour(0x882255), colour(0x999933), colour(0x332288), colour(0x44AA99), colour(0x8A4B08),
    colour(0x9467BD), colour(0x225522), colour(0xE7298A), colour(0x5B6C8F), colour(0x76B041), colour(0xB22222),
    colour(0x8C8C8C), colour(0x005F73), colour(0xC9A227), colour(0x5E2A7E), colour(0xD0679D), colour(0x1B7837),
    colour(0x4F81BD), colour(0x6A5A00)};
static_assert(series_colours.size() == different_looks);

const std::vector<std::vector<double>> series_dashes{
    {}, {6, 2}, {3, 1.5, 1, 1.5}, {1.5, 1.5}, {8, 2, 1.5, 2, 1.5, 2}, {10, 3}, {4, 1.5, 4, 1.5, 1, 1.5}};

// A polygon around 0 with corners alternately at two distances, the first one above.
std::vector<Position> around(int corners, double outer, double inner) {
  std::vector<Position> polygon;
  for (int i = 0; i < corners; ++i) {
    const double turn = 2 * M_PI * i / corners, far = i % 2 == 0 ? outer : inner;
    polygon.push_back({far * std::sin(turn), -far * std::cos(turn)});
  }
  return polygon;
}

std::vector<Position> turned(const std::vector<Position>& polygon, double cosine, double sine) {
  std::vector<Position> result;
  for (const Position& p : polygon) result.push_back({cosine * p.x - sine * p.y, sine * p.x + cosine * p.y});
  return result;
}

const std::vector<std::vector<Position>>& markers() {
  static const std::vector<Position> triangle{{0, -1.2}, {1.05, 0.8}, {-1.05, 0.8}};
  static const std::vector<Position> plus{{-0.4, -1.25}, {0.4, -1.25}, {0.4, -0.4},   {1.25, -0.4},
                                          {1.25, 0.4},   {0.4, 0.4},   {0.4, 1.25},   {-0.4, 1.25},
                                          {-0.4, 0.4},   {-1.25, 0.4}, {-1.25, -0.4}, {-0.4, -0.4}};
  static const std::vector<std::vector<Position>> known{
      {},
      {{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}},
      triangle,
      {{0, -1.25}, {1.25, 0}, {0, 1.25}, {-1.25, 0}},
      turned(triangle, -1, 0),  // downwards
      plus,
      turned(plus, M_SQRT1_2, M_SQRT1_2),
      turned(triangle, 0, -1),  // to the left
      turned(triangle, 0, 1),
      around(5, 1.15, 1.15),
      around(10, 1.45, 0.6),  // a star
      around(6, 1.2, 1.2),    // beyond the first 22 looks
      around(12, 1.45, 0.75),
  };
  return known;
}

// Eleven markers, filled and hollow, then one more for each two looks.
const std::vector<Position>& marker_of(std::size_t place) {
  constexpr std::size_t first = 11;
  return markers()[place < 2 * first ? place % first : first + (place - 2 * first) / 2];
}

}  // namespace

SeriesLook series_look(std::size_t place) {
  constexpr std::array hatches{Hatch::None, Hatch::Rising, Hatch::Falling, Hatch::Crossed};
  return {.colour = series_colours[place % series_colours.size()],
          .dashes = series_dashes[place % series_dashes.size()],
          .marker = marker_of(place % different_looks),
          .hollow = place % 2 == 1,
          .hatch = hatches[place % hatches.size()]};
}

Look line_look(const SeriesLook& look) { return {.line = look.colour, .width = 1.8, .dashes = look.dashes}; }

Look reference_look() { return {.line = style::faint_ink, .width = 1, .dashes = {2.5, 2.5}}; }

Look bar_look(const SeriesLook& look) {
  return {.fill = look.colour, .hatch = look.hatch, .hatch_colour = colour(0xFFFFFF)};
}

void add_marker(Drawing& drawing, const SeriesLook& look, Position at, const Meaning& meaning) {
  constexpr double radius = 3.6;
  const Look drawn{.fill = look.hollow ? colour(0xFFFFFF) : look.colour, .line = look.colour, .width = 1.4};
  if (look.marker.empty()) {
    drawing.add(Circle{at, radius, drawn, meaning});
    return;
  }
  Path path{.closed = true, .look = drawn, .meaning = meaning};
  for (const Position& corner : look.marker)
    path.points.push_back({at.x + radius * corner.x, at.y + radius * corner.y});
  drawing.add(path);
}

Colour mixed(Colour from, Colour to, double share) {
  const auto mix = [share](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a + share * (b - a)));
  };
  return {mix(from.red, to.red), mix(from.green, to.green), mix(from.blue, to.blue)};
}

void add_error_bar(Drawing& drawing, const Look& look, Position from, Position to, bool cap_from, bool cap_to) {
  constexpr double cap = 3;
  if (from.x == to.x && from.y == to.y) return;
  const bool vertical = from.x == to.x;
  const auto add = [&](Position a, Position b) {
    drawing.add(Path{.points = {a, b}, .look = look, .meaning = {"error", ""}});
  };
  add(from, to);
  const Position half = vertical ? Position{cap, 0} : Position{0, cap};
  for (const auto& [end, capped] : {std::pair(from, cap_from), {to, cap_to}})
    if (capped) add({end.x - half.x, end.y - half.y}, {end.x + half.x, end.y + half.y});
}

void add_cross(Drawing& drawing, Position at) {
  constexpr double radius = 4.2;
  for (const Look& look : {Look{.line = colour(0xFFFFFF), .width = 3.2}, Look{.line = style::ink, .width = 1.4}})
    for (const double up : {-radius, radius})
      drawing.add(Path{
          .points = {{at.x - radius, at.y + up}, {at.x + radius, at.y - up}}, .look = look, .meaning = {"cross", ""}});
}

}  // namespace allreplay
