#include "sim/view/memory_picture.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/cluster/describe.hpp"
#include "sim/core/units.hpp"
#include "sim/training/memory.hpp"

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
  chart.title = fmt::format("{} on {}, {} workers", scenario.profile->name, named_with_routing(scenario.cluster),
                            scenario.workers);
  chart.x = {.name = "memory of a worker", .label = [](double gigabytes) { return fmt::format("{:g} GB", gigabytes); }};
  std::vector<Position> all;
  bool large = false;
  for (const Advice& advice : ranking) {
    const Result& result = advice.tuned.result;
    Series series{.name = name_of(advice), .line = false};
    const auto add = [&](double bytes, double seconds, bool does_fit) {
      series.points.push_back({bytes / 1e9, seconds});
      if (!does_fit) series.crossed.push_back(series.points.back());
      large = large || !does_fit;
    };
    add(result.memory.peak, result.metrics.iteration_s, fits(advice.tuned.scenario, result));
    for (const Trial& trial : advice.trials) add(trial.memory_bytes, trial.iteration_s, trial.fits);
    all.insert(all.end(), series.points.begin(), series.points.end());
    chart.series.push_back(std::move(series));
  }
  const auto [least, most] =
      std::minmax_element(all.begin(), all.end(), [](const Position& a, const Position& b) { return a.y < b.y; });
  const double low = least->y, high = most->y, room = 0.08 * (high - low);
  chart.y = {.name = "iteration", .spacing = Spacing::Log10, .label = format_duration};
  if (high > low && high < 5 * low)  // too few round numbers on a logarithmic axis
    chart.y = {.name = "iteration", .label = format_duration, .from = low - room, .to = high + room};
  if (const auto limit = scenario.options.memory.limit)
    chart.series.push_back(
        {.name = fmt::format("--memory {}", write_size(*limit)),
         .points = {{static_cast<double>(*limit) / 1e9, low}, {static_cast<double>(*limit) / 1e9, high}},
         .markers = false});
  chart.series.push_back({.name = "Pareto front", .points = front_of(std::move(all)), .markers = false});
  const bool activations = ranking.front().tuned.result.memory.parts.activations.has_value();
  chart.note = large ? "×: does not fit; " : "";
  chart.note += activations ? "every setting that was tried"
                            : "every setting that was tried; without activations, which the profile does not have";
  return chart;
}

}  // namespace allreplay
