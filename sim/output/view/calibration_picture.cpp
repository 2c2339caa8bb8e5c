#include "sim/output/view/calibration_picture.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "sim/output/picture/chart.hpp"
#include "sim/plans/collective/comm_cost.hpp"

namespace allreplay {

namespace {

// The palette indices of the series, shared by both charts.
constexpr std::size_t of_line = 0, of_table = 1, of_other = 2, of_measured = 3;

ChartAxis size_axis() {
  return {.name = "message size", .spacing = Spacing::Log10, .label = [](double bytes) {
            return format_size(static_cast<Bytes>(std::llround(bytes)));
          }};
}

struct Fits {
  LineFit line;
  CommCost table;
  bool with_table;  // false if it has a single piece and thus equals the line
  const DrawnPrice& other;

  double by_line(double bytes) const { return line.a + line.b * bytes; }
  double by_table(double bytes) const { return to_seconds(table(static_cast<Bytes>(std::llround(bytes)))); }
};

Chart times(const Calibration& of, const Fits& fits) {
  Chart chart;
  chart.title = fmt::format("{} with {} workers, from {}", of.algorithm->name, of.workers(),
                            std::filesystem::path(of.log.file).filename().string());
  chart.x = size_axis();
  chart.y = {.name = "time", .spacing = Spacing::Log10, .label = format_duration};
  Series measured{.name = "measured", .line = false, .style = of_measured};
  for (const Measurement& row : of.log.points) measured.points.push_back({static_cast<double>(row.bytes), row.seconds});
  chart.series.push_back(measured);
  Series line{.name = fmt::format("{} + {:.4g} ns/B", format_duration(of.line.a), of.line.b * 1e9),
              .markers = false,
              .style = of_line};
  Series table{.name = fmt::format("table of {} pieces", of.table.pieces.size()), .markers = false, .style = of_table};
  Series other{.name = fits.other.name, .markers = false, .style = of_other};
  constexpr int steps = 400;  // a + b * bytes is curved on logarithmic axes
  const double from = static_cast<double>(of.overall.from), to = static_cast<double>(of.largest());
  for (int i = 0; i <= steps; ++i) {
    const double bytes = from * std::pow(to / from, static_cast<double>(i) / steps);
    line.points.push_back({bytes, fits.by_line(bytes)});
    table.points.push_back({bytes, fits.by_table(bytes)});
    if (fits.other.seconds) other.points.push_back({bytes, fits.other.seconds(bytes)});
  }
  chart.series.push_back(line);
  if (fits.with_table) chart.series.push_back(table);
  if (fits.other.seconds) chart.series.push_back(other);
  return chart;
}

Chart residuals(const Calibration& of, const Fits& fits) {
  Chart chart;
  chart.x = size_axis();
  chart.y = {.name = "fitted / measured", .spacing = Spacing::Log2};
  chart.height = 160;
  Series line{.name = "line", .line = false, .style = of_line};
  Series table{.name = "table", .line = false, .style = of_table};
  Series other{.name = fits.other.name, .line = false, .style = of_other};
  for (const Measurement& row : of.log.points) {
    const auto bytes = static_cast<double>(row.bytes);
    line.points.push_back({bytes, fits.by_line(bytes) / row.seconds});
    table.points.push_back({bytes, fits.by_table(bytes) / row.seconds});
    if (fits.other.seconds) other.points.push_back({bytes, fits.other.seconds(bytes) / row.seconds});
  }
  chart.series.push_back(line);
  if (fits.with_table) chart.series.push_back(table);
  if (fits.other.seconds) chart.series.push_back(other);
  chart.note = fmt::format("fitted to {} rows from {} to {}; see docs/calibration.md", of.overall.rows,
                           format_size(of.overall.from), format_size(of.largest()));
  return chart;
}

struct Move {
  double down;

  void operator()(Rectangle& shape) const { shape.box.y += down; }
  void operator()(Circle& shape) const { shape.centre.y += down; }
  void operator()(Text& shape) const { shape.at.y += down; }
  void operator()(Path& shape) const {
    for (Position& point : shape.points) point.y += down;
  }
};

}  // namespace

// The lower drawing's background comes after the upper drawing's shapes, but does not reach them.
Drawing stacked(Drawing above, const Drawing& below) {
  for (Shape shape : below.shapes) {
    std::visit(Move{above.height}, shape);
    above.add(std::move(shape));
  }
  above.height += below.height;
  above.width = std::max(above.width, below.width);
  return above;
}

Drawing calibration_picture(const Calibration& calibration, const DrawnPrice& other) {
  const Fits fits{calibration.line, CommCost(calibration.table.table), calibration.table.pieces.size() > 1, other};
  return stacked(draw(times(calibration, fits)), draw(residuals(calibration, fits)));
}

}  // namespace allreplay
