#include "sim/output/picture/chart.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "sim/output/picture/axes.hpp"
#include "sim/output/picture/series_look.hpp"
#include "sim/output/picture/style.hpp"

namespace allreplay {

namespace {

struct Range {
  double least = std::numeric_limits<double>::infinity(), greatest = -least;

  void add(double value) {
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
};

// The values along each axis; along the vertical one only of what the horizontal one shows, unless it shows nothing.
std::pair<Range, Range> ranges_of(const Chart& chart) {
  Range across, along, all;
  const auto add = [&](double x, double y) {
    all.add(y);
    if (x >= chart.x.from.value_or(x) && x <= chart.x.to.value_or(x)) along.add(y);
  };
  for (const Series& series : chart.series) {
    for (const Position& point : series.points) {
      across.add(point.x - series.bar_width / 2);
      across.add(point.x + series.bar_width / 2);
      add(point.x, point.y);
    }
    for (const std::vector<ErrorBar>* errors : {&series.errors, &series.band})
      for (const ErrorBar& error : *errors)
        for (const double end : {error.low, error.high})
          if (end > 0 || chart.y.spacing == Spacing::Linear) add(error.x, end);
  }
  return {across, along.least <= along.greatest ? along : all};
}

std::size_t place_of(const Chart& chart, std::size_t series) { return chart.series[series].style.value_or(series); }

LegendEntry entry_of(const Series& series, const SeriesLook& look) {
  if (series.bar_width > 0) return swatch(series.name, {.fill = look.colour});
  return {series.name, [series, look](Drawing& drawing, const Box& box) {
            const double y = box.y + box.height / 2;
            const Look line = series.reference ? reference_look() : line_look(look);
            if (series.line) drawing.add(Path{.points = {{box.x, y}, {box.right(), y}}, .look = line});
            if (series.markers && !series.reference) add_marker(drawing, look, {box.x + box.width / 2, y});
          }};
}

class ChartPainter {
 public:
  ChartPainter(Drawing& drawing, const Chart& chart, const Axes& axes)
      : drawing_(drawing), chart_(chart), axes_(axes) {}

  void paint(const Series& series, const SeriesLook& look) const {
    if (series.bar_width > 0) return paint_bars(series, look);
    if (series.line)
      for (std::vector<Position>& points : visible_parts(series))
        drawing_.add(Path{.points = std::move(points),
                          .look = series.reference ? reference_look() : line_look(look),
                          .meaning = {series.reference ? "reference" : "line", series.name}});
    for (const ErrorBar& error : series.errors) paint_error(error, look);
    if (!series.markers || series.reference) return;
    for (const Position& point : series.points)
      if (axes_.shows(point)) add_marker(drawing_, look, axes_.at(point), {"point", title_of(series, point)});
    for (const Position& point : series.crossed)
      if (axes_.shows(point)) add_cross(drawing_, axes_.at(point));
  }

  // Low ends that a logarithmic axis cannot show end at the field.
  void paint_band(const Series& series, const SeriesLook& look) const {
    std::vector<Position> upper, lower;
    for (const ErrorBar& error : series.band) {
      const Position low = axes_.at({error.x, error.low});
      upper.push_back(axes_.at({error.x, error.high}));
      lower.push_back({upper.back().x, std::isfinite(low.y) ? low.y : axes_.field().bottom()});
    }
    upper.insert(upper.end(), lower.rbegin(), lower.rend());
    if (upper = clipped_area(std::move(upper), axes_.field()); upper.size() > 2)
      drawing_.add(Path{.points = std::move(upper),
                        .closed = true,
                        .look = {.fill = look.colour, .opacity = 0.2},
                        .meaning = {"band", series.name}});
  }

 private:
  // The parts of the series' line in the field.
  std::vector<std::vector<Position>> visible_parts(const Series& series) const {
    std::vector<Position> points;
    for (const Position& point : series.points) points.push_back(axes_.at(point));
    if (std::ranges::all_of(series.points, [&](const Position& point) { return axes_.shows(point); })) return {points};
    return clipped(points, axes_.field());
  }

  // Low ends that a logarithmic axis cannot show, and ends beyond the limits, are cut off at the field and have no cap.
  void paint_error(const ErrorBar& error, const SeriesLook& look) const {
    const Box& field = axes_.field();
    const double low = axes_.at({error.x, error.low}).y, high = axes_.at({error.x, error.high}).y;
    if (!axes_.shows_across(error.x) || low <= field.y || high >= field.bottom()) return;
    const bool low_in = low <= field.bottom(), high_in = high >= field.y;  // false if not a number
    const double x = axes_.at({error.x, error.high}).x;
    add_error_bar(drawing_, {.line = look.colour}, {x, low_in ? low : field.bottom()}, {x, high_in ? high : field.y},
                  low_in, high_in);
  }

  void paint_bars(const Series& series, const SeriesLook& look) const {
    for (const Position& point : series.points) {
      const Position left = axes_.at({point.x - series.bar_width / 2, point.y});
      const double right = axes_.at({point.x + series.bar_width / 2, 0}).x, bottom = axes_.field().bottom();
      if (left.y < bottom)
        drawing_.add(Rectangle{{left.x, left.y, right - left.x, bottom - left.y},
                               {.fill = look.colour},
                               {"bar", title_of(series, point)}});
    }
  }

  std::string title_of(const Series& series, const Position& point) const {
    return fmt::format("{}: {}, {}", series.name, chart_.x.label(point.x), chart_.y.label(point.y));
  }

  Drawing& drawing_;
  const Chart& chart_;
  const Axes& axes_;
};

}  // namespace

std::vector<LegendEntry> legend_of(const Chart& chart) {
  std::vector<LegendEntry> legend;
  for (std::size_t i = 0; i < chart.series.size(); ++i)
    if (!chart.series[i].name.empty()) legend.push_back(entry_of(chart.series[i], series_look(place_of(chart, i))));
  return legend;
}

double add_chart(Drawing& drawing, const Box& room, const Chart& chart) {
  const auto [across, along] = ranges_of(chart);
  const Axes axes(drawing, {room.x, room.y, room.width - style::margin, chart.height}, chart.x,
                  {across.least, across.greatest}, chart.y, {along.least, along.greatest});
  const ChartPainter painter(drawing, chart, axes);
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const std::size_t first = drawing.shapes.size();
    painter.paint_band(chart.series[i], series_look(place_of(chart, i)));
    drawing.mark_series(chart.series[i].name, first);
  }
  for (const bool reference : {true, false})
    for (std::size_t i = 0; i < chart.series.size(); ++i)
      if (chart.series[i].reference == reference) {
        const std::size_t first = drawing.shapes.size();
        painter.paint(chart.series[i], series_look(place_of(chart, i)));
        drawing.mark_series(chart.series[i].name, first);
      }
  return axes.bottom();
}

Drawing draw(const Chart& chart) {
  Drawing drawing{.width = chart.width, .title = chart.title};
  double top = add_title(drawing, style::margin, chart.title);
  top = add_legend(drawing, top + 6, legend_of(chart)) + 4;
  const Box room{style::margin, top + 6, chart.width - 2 * style::margin, chart.height};
  drawing.height = add_note(drawing, add_chart(drawing, room, chart) + 4, chart.note) + style::margin - 4;
  return drawing;
}

}  // namespace allreplay
