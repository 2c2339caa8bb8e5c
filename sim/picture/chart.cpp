#include "sim/picture/chart.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "sim/picture/axes.hpp"
#include "sim/picture/drawing_parts.hpp"
#include "sim/picture/style.hpp"

namespace allreplay {

namespace {

// Markers and dashes tell series apart where colours do not print. Hollow markers leave one below them visible.
const std::vector<std::vector<double>> dashes{{}, {6, 2}, {3, 1.5, 1, 1.5}, {1.5, 1.5}, {8, 2, 1.5, 2, 1.5, 2}};

using Marker = std::vector<Position>;  // a polygon around 0, of about radius 1; a circle if empty
const std::vector<Marker> markers{
    {},
    {{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}},
    {{0, -1.2}, {1.05, 0.8}, {-1.05, 0.8}},
    {{0, -1.25}, {1.25, 0}, {0, 1.25}, {-1.25, 0}},
    {{0, 1.2}, {1.05, -0.8}, {-1.05, -0.8}},
};

class SeriesStyle {
 public:
  explicit SeriesStyle(std::size_t place) : place_(place), colour_(style::palette_colour(place)) {}

  Look line() const { return {.line = colour_, .width = 1.8, .dashes = dashes[place_ % dashes.size()]}; }

  void mark(Drawing& drawing, Position at, const Meaning& meaning) const {
    constexpr double radius = 3.6;
    const bool hollow = place_ % 2 == 1;
    const Look look{.fill = hollow ? colour(0xFFFFFF) : colour_, .line = colour_, .width = 1.4};
    const Marker& marker = markers[place_ % markers.size()];
    if (marker.empty()) {
      drawing.add(Circle{at, radius, look, meaning});
      return;
    }
    Path path{.closed = true, .look = look, .meaning = meaning};
    for (const Position& corner : marker) path.points.push_back({at.x + radius * corner.x, at.y + radius * corner.y});
    drawing.add(path);
  }

 private:
  std::size_t place_;
  Colour colour_;
};

LegendEntry entry_of(const Series& series, const SeriesStyle& look) {
  return {series.name, [&series, look](Drawing& drawing, const Box& box) {
            const double y = box.y + box.height / 2;
            if (series.line) drawing.add(Path{.points = {{box.x, y}, {box.right(), y}}, .look = look.line()});
            if (series.markers) look.mark(drawing, {box.x + box.width / 2, y}, {});
          }};
}

struct Range {
  double least = std::numeric_limits<double>::infinity(), greatest = -least;

  void add(double value) {
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
};

}  // namespace

Drawing draw(const Chart& chart) {
  Range across, along;
  std::vector<SeriesStyle> looks;
  std::vector<LegendEntry> legend;
  for (const Series& series : chart.series) {
    for (const Position& point : series.points) {
      across.add(point.x);
      along.add(point.y);
    }
    looks.emplace_back(series.style.value_or(looks.size()));
    if (!series.name.empty()) legend.push_back(entry_of(series, looks.back()));
  }
  Drawing drawing{.width = chart.width, .title = chart.title};
  double top = add_title(drawing, style::margin, chart.title);
  top = add_legend(drawing, top + 6, legend) + 10;
  const Axes axes(drawing, {0, top, chart.width, chart.height}, chart.x, {across.least, across.greatest}, chart.y,
                  {along.least, along.greatest});
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    std::vector<Position> points;
    for (const Position& point : series.points) points.push_back(axes.at(point));
    if (series.line) drawing.add(Path{.points = points, .look = looks[i].line(), .meaning = {"line", series.name}});
    if (series.markers)
      for (std::size_t p = 0; p < points.size(); ++p)
        looks[i].mark(drawing, points[p],
                      {"point", fmt::format("{}: {}, {}", series.name, chart.x.label(series.points[p].x),
                                            chart.y.label(series.points[p].y))});
  }
  drawing.height = add_note(drawing, axes.bottom() + 4, chart.note) + style::margin - 4;
  return drawing;
}

}  // namespace allreplay
