#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/output/picture/chart.hpp"
#include "sim/output/report/phrases.hpp"
#include "sim/output/report/table.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/studies/calibration/validation.hpp"

namespace allreplay {

namespace {

std::string unit_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::Throughput:
      return "samples/s";
    case Quantity::Speedup:
      return "speed-up";
    default:
      return "time";
  }
}

// True if the prediction is positive and finite, as logarithmic axes require.
bool is_shown(const Validation& validation, std::size_t row) {
  const double predicted = validation.points[row].predicted.value;
  return predicted > 0 && std::isfinite(predicted);
}

}  // namespace

Drawing validation_picture(const Validation& validation) {
  const Quantity quantity = validation.measured.quantity;
  Chart chart;
  chart.title = fmt::format("Predicted against measured {}", unit_of(quantity));
  double least = validation.measured.points.front().value, greatest = least;
  for (std::size_t row = 0; row < validation.points.size(); ++row) {
    if (!is_shown(validation, row)) continue;
    for (const double value : {validation.measured.points[row].value, validation.points[row].predicted.value}) {
      least = std::min(least, value);
      greatest = std::max(greatest, value);
    }
  }
  chart.width = 480;
  chart.height = 400;
  chart.x = {.name = "measured " + unit_of(quantity), .spacing = Spacing::Log10};
  if (is_time(quantity)) chart.x.label = format_duration;
  chart.x.from = least / 1.25;
  chart.x.to = greatest * 1.25;
  chart.y = chart.x;
  chart.y.name = "predicted " + unit_of(quantity);
  std::size_t style = 0, left_out = 0;
  const auto line = [&](const std::string& name, double factor) {
    chart.series.push_back({.name = name,
                            .points = {{least, factor * least}, {greatest, factor * greatest}},
                            .markers = false,
                            .style = style});
  };
  line("exact", 1);
  ++style;
  line("within 25 %", 1.25);
  line("", 0.8);
  for (const GroupScore& group : validation.groups) {
    Series series{.name = fmt::format("{}: {}", group.name, percent(group.error.median)),
                  .points = {},
                  .line = false,
                  .style = ++style};
    for (std::size_t row = 0; row < validation.points.size(); ++row) {
      const MeasuredPoint& point = validation.measured.points[row];
      if (!point.scored() || point.group != group.name) continue;
      if (is_shown(validation, row))
        series.points.push_back({point.value, validation.points[row].predicted.value});
      else
        ++left_out;
    }
    chart.series.push_back(std::move(series));
  }
  chart.note = fmt::format("{} points; the median error of each group", validation.all.error.rows);
  if (left_out > 0) chart.note += fmt::format("; {} left out, predicted to take no time", left_out);
  return draw(chart);
}

}  // namespace allreplay
