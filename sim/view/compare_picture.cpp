#include "sim/view/compare_picture.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/picture/style.hpp"
#include "sim/view/activity_looks.hpp"

namespace allreplay {

BarChart compare_chart(const std::vector<Outcome>& outcomes) {
  const auto& [scenario, result, wall_s] = outcomes.front();
  double longest = 0;
  for (const Outcome& outcome : outcomes) longest = std::max(longest, outcome.result.metrics.iteration_s);
  const FittingUnit unit = unit_of_duration(longest);

  BarChart chart;
  chart.title = title(scenario, result);
  chart.note = caveat_with_source(scenario.profile);
  chart.value.name = fmt::format("time per iteration ({})", unit.name);
  const auto add_part = [&](const std::string& name, double Metrics::*part, const Look& look, bool of_batch = false) {
    BarPart bars{name, {}, look};
    // With jitter a mean iteration may fall a little below the times that it is compared with.
    for (const Outcome& outcome : outcomes)
      bars.values.push_back(std::max(0.0, outcome.result.metrics.*part) / unit.size *
                            static_cast<double>(of_batch ? outcome.result.plan.step.accumulate : 1));
    if (std::any_of(bars.values.begin(), bars.values.end(), [](double value) { return value > 0; }))
      chart.parts.push_back(bars);
  };
  add_part("forward", &Metrics::forward_s, look_of(Activity::Forward), true);
  add_part("backward", &Metrics::backward_s, look_of(Activity::Backward), true);
  add_part("update", &Metrics::update_s, look_of(Activity::Update));
  add_part("codec", &Metrics::codec_s, look_of(Activity::Codec));
  add_part("exposed communication", &Metrics::exposed_comm_s, look_of_waiting());
  for (const Outcome& outcome : outcomes) {
    chart.bars.emplace_back(outcome.scenario.strategy->name);
    chart.ends.push_back(format_duration(outcome.result.metrics.iteration_s));
  }
  if (const auto bound = lower_bound(outcomes))
    chart.mark = BarMark{"no lossless schedule is faster than " + format_duration(*bound), *bound / unit.size};
  return chart;
}

}  // namespace allreplay
