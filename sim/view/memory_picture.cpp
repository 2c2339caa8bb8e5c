#include "sim/view/memory_picture.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/units.hpp"

namespace allreplay {

namespace {

// From the least memory on, each faster than all before it.
std::vector<Position> front_of(std::vector<Position> points) {
  std::sort(points.begin(), points.end(),
            [](const Position& a, const Position& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  std::vector<Position> front;
  for (const Position& point : points)
    if (front.empty() || point.y < front.back().y) front.push_back(point);
  return front;
}

}  // namespace

Chart memory_chart(const std::vector<Advice>& ranking) {
  const Scenario& scenario = ranking.front().tuned.scenario;
  Chart chart;
  chart.title = fmt::format("{} on {}, {} workers", scenario.profile.name, scenario.cluster.name, scenario.workers);
  chart.x = {.name = "memory of a worker", .label = [](double gigabytes) { return fmt::format("{:g} GB", gigabytes); }};
  chart.y = {.name = "iteration", .spacing = Spacing::Log2, .label = format_duration};
  std::vector<Position> all;
  for (const Advice& advice : ranking) {
    const Result& result = advice.tuned.result;
    Series series{.name = std::string(advice.tuned.scenario.strategy->name), .line = false};
    series.points.push_back({result.memory.peak / 1e9, result.metrics.iteration_s});
    for (const Trial& trial : advice.trials) series.points.push_back({trial.memory_bytes / 1e9, trial.iteration_s});
    all.insert(all.end(), series.points.begin(), series.points.end());
    chart.series.push_back(std::move(series));
  }
  chart.series.push_back({.name = "nothing beats in both", .points = front_of(std::move(all)), .markers = false});
  const bool activations = ranking.front().tuned.result.memory.parts.activations.has_value();
  chart.note = activations ? "every setting that was tried"
                           : "every setting that was tried; without activations, of which the trace says nothing";
  return chart;
}

}  // namespace allreplay
