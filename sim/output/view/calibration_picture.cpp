#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "sim/output/picture/figure.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/plans/collective/comm_cost.hpp"
#include "sim/studies/calibration/calibration.hpp"

namespace allreplay {

namespace {

constexpr std::size_t look_of_measured = 3;

struct Curve {
  std::string name;
  std::function<double(double bytes)> seconds;
};

std::vector<Curve> curves_of(const DrawnCalibration& log) {
  const LineFit line = log.fitted.line;
  std::vector<Curve> curves{{"line", [line](double bytes) { return line.a + line.b * bytes; }}};
  if (log.fitted.table.pieces.size() > 1)  // otherwise it equals the line
    curves.push_back({"table", [table = CommCost(log.fitted.table.table)](double bytes) {
                        return to_seconds(table(static_cast<Bytes>(std::llround(bytes))));
                      }});
  if (!log.law.empty()) curves.push_back({log.law, log.seconds});
  return curves;
}

Chart empty_chart(ChartAxis y, double height) {
  return {.x = {.name = "message size",
                .spacing = Spacing::Log10,
                .label = [](double bytes) { return format_size(static_cast<Bytes>(std::llround(bytes))); }},
          .y = std::move(y),
          .height = height};
}

Chart times(const Calibration& of, const std::vector<Curve>& curves) {
  Chart chart = empty_chart({.name = "time", .spacing = Spacing::Log10, .label = format_duration}, 340);
  Series measured{.name = "measured", .line = false, .style = look_of_measured};
  for (const Measurement& row : of.log.points) measured.points.push_back({static_cast<double>(row.bytes), row.seconds});
  chart.series.push_back(measured);
  constexpr int steps = 400;  // a + b * bytes is curved on logarithmic axes
  const double from = static_cast<double>(of.overall.from), to = static_cast<double>(of.largest());
  for (std::size_t i = 0; i < curves.size(); ++i) {
    Series series{.name = curves[i].name, .markers = false, .style = i};
    for (int step = 0; step <= steps; ++step) {
      const double bytes = from * std::pow(to / from, static_cast<double>(step) / steps);
      series.points.push_back({bytes, curves[i].seconds(bytes)});
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart residuals(const Calibration& of, const std::vector<Curve>& curves) {
  Chart chart = empty_chart({.name = "fitted / measured", .spacing = Spacing::Log2}, 160);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    Series series{.name = curves[i].name, .line = false, .style = i};
    for (const Measurement& row : of.log.points) {
      const auto bytes = static_cast<double>(row.bytes);
      series.points.push_back({bytes, curves[i].seconds(bytes) / row.seconds});
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace

Drawing calibration_picture(const std::vector<DrawnCalibration>& logs) {
  Figure figure{.columns = 1, .panel_width = 612};
  for (const DrawnCalibration& log : logs) {
    const Calibration& of = log.fitted;
    const std::vector<Curve> curves = curves_of(log);
    const std::string title = fmt::format("{} with {} workers, from {}", of.algorithm->name, of.workers(),
                                          std::filesystem::path(of.log.file).filename().string());
    if (figure.title.empty()) figure.title = title;
    add_panel(figure,
              fmt::format("{}: line {} + {:.4g} ns/B, table of {} pieces", title, format_duration(of.line.a),
                          of.line.b * 1e9, of.table.pieces.size()),
              times(of, curves));
    add_panel(figure,
              fmt::format("fitted to {} rows from {} to {}", of.overall.rows, format_size(of.overall.from),
                          format_size(of.largest())),
              residuals(of, curves));
  }
  return draw(figure);
}

}  // namespace allreplay
