#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/units.hpp"
#include "sim/inputs/cluster/describe.hpp"
#include "sim/output/picture/chart.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/studies/experiment/layouts.hpp"
#include "sim/studies/experiment/recommend.hpp"

namespace allreplay {

namespace {

// Returns the Pareto front by increasing memory: each point is faster than all before it.
std::vector<Position> front_of(std::vector<Position> points) {
  std::sort(points.begin(), points.end(),
            [](const Position& a, const Position& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  std::vector<Position> front;
  for (const Position& point : points)
    if (front.empty() || point.y < front.back().y) front.push_back(point);
  return front;
}

struct Tried {
  double memory_bytes = 0, iteration_s = 0;
  bool fits = true;
};
using TriedByName = std::vector<std::pair<std::string, std::vector<Tried>>>;

// `one`: any of the scenarios tried.
Chart chart_of(const TriedByName& tried, const Scenario& one, const std::string& profile, const std::string& what,
               bool activations) {
  Chart chart;
  chart.title = fmt::format("{} on {}, {} workers", profile, named_with_routing(one.cluster), one.workers);
  chart.x = {.name = "memory of a worker", .label = [](double gigabytes) { return fmt::format("{:g} GB", gigabytes); }};
  std::vector<Position> all;
  bool large = false;
  for (const auto& [name, points] : tried) {
    Series series{.name = name, .line = false};
    for (const auto& [bytes, seconds, does_fit] : points) {
      series.points.push_back({bytes / 1e9, seconds});
      if (!does_fit) series.crossed.push_back(series.points.back());
      large = large || !does_fit;
    }
    all.insert(all.end(), series.points.begin(), series.points.end());
    chart.series.push_back(std::move(series));
  }
  const auto [least, most] =
      std::minmax_element(all.begin(), all.end(), [](const Position& a, const Position& b) { return a.y < b.y; });
  const double low = least->y, high = most->y, room = 0.08 * (high - low);
  chart.y = {.name = "iteration", .spacing = Spacing::Log10, .label = format_duration};
  if (high > low && high < 5 * low)  // a logarithmic axis would have too few round numbers
    chart.y = {.name = "iteration", .label = format_duration, .from = low - room, .to = high + room};
  if (const auto limit = one.options.memory.limit) {
    const std::string asked = write_size(*limit), on_axis = format_size(*limit);
    chart.series.push_back(
        {.name = fmt::format("--memory {}{}", asked, asked.ends_with("iB") ? fmt::format(" ({})", on_axis) : ""),
         .points = {{static_cast<double>(*limit) / 1e9, low}, {static_cast<double>(*limit) / 1e9, high}},
         .markers = false});
  }
  chart.series.push_back({.name = "Pareto front", .points = front_of(std::move(all)), .markers = false});
  chart.note = fmt::format("{}every {}{}", large ? "×: does not fit; " : "", what,
                           activations ? "" : "; without activations, which the profile does not have");
  return chart;
}

}  // namespace

Drawing memory_picture(const std::vector<Advice>& ranking) {
  TriedByName tried;
  for (const Advice& advice : ranking) {
    const auto& [scenario, result, wall_s] = advice.tuned;
    std::vector<Tried> points{{result.memory.peak, result.metrics.iteration_s, fits(scenario, result)}};
    for (const Trial& trial : advice.trials) points.push_back({trial.memory_bytes, trial.iteration_s, trial.fits});
    tried.emplace_back(name_of(advice), std::move(points));
  }
  const auto& [scenario, result, wall_s] = ranking.front().tuned;
  return draw(chart_of(tried, scenario, scenario.profile->name, "setting that was tried",
                       result.memory.parts.activations.has_value()));
}

Drawing memory_picture(const LayoutAdvice& advice, const LayoutSearch& search) {
  TriedByName tried;
  for (const LayoutTrial& one : advice.ranking) {
    const auto& [scenario, result, wall_s] = one.outcome;
    const std::string name =
        one.layout.pp > 1 ? fmt::format("{}, {}", one.layout.strategy, one.layout.schedule) : one.layout.strategy;
    auto known = std::find_if(tried.begin(), tried.end(), [&](const auto& series) { return series.first == name; });
    if (known == tried.end()) known = tried.insert(known, {name, {}});
    known->second.push_back({result.memory.peak, result.metrics.iteration_s, fits(scenario, result)});
  }
  return draw(
      chart_of(tried, advice.ranking.front().outcome.scenario, search.model.name, "layout that was simulated", true));
}

}  // namespace allreplay
