#include "sim/view/compare_picture.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/picture/style.hpp"
#include "sim/report/report.hpp"
#include "sim/report/scenario_labels.hpp"
#include "sim/training/memory.hpp"
#include "sim/view/activity_looks.hpp"

namespace allreplay {

BarChart compare_chart(const std::vector<Outcome>& outcomes) {
  const auto& [scenario, result, wall_s] = outcomes.front();
  double longest = 0;
  for (const Outcome& outcome : outcomes) longest = std::max(longest, outcome.result.metrics.iteration_s);
  const FittingUnit unit = unit_of_duration(longest);

  const ScenarioLabels names = labels_of(outcomes);
  BarChart chart;
  chart.title = names.title();
  std::string large;  // what is said where something does not fit into memory
  chart.value.name = fmt::format("time per iteration ({})", unit.name);
  const auto add_part = [&](const std::string& name, double Metrics::*part, const Look& look, bool of_batch = false) {
    BarPart bars{name, {}, look};
    // With jitter a mean iteration may fall a little below the times that it is compared with.
    for (const Outcome& outcome : outcomes)
      bars.values.push_back(std::max(0.0, outcome.result.metrics.*part) / unit.size *
                            static_cast<double>(of_batch ? outcome.result.plan.sharding.accumulate : 1));
    if (std::any_of(bars.values.begin(), bars.values.end(), [](double value) { return value > 0; }))
      chart.parts.push_back(bars);
  };
  add_part("forward", &Metrics::forward_s, look_of(Activity::Forward), true);
  add_part("backward", &Metrics::backward_s, look_of(Activity::Backward), true);
  add_part("update", &Metrics::update_s, look_of(Activity::Update));
  add_part("codec", &Metrics::codec_s, look_of(Activity::Codec));
  add_part("exposed communication", &Metrics::exposed_comm_s, look_of_waiting());
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    chart.bars.push_back(names.label(i));
    const bool does_fit = fits(outcomes[i].scenario, outcomes[i].result);
    chart.ends.push_back(format_duration(outcomes[i].result.metrics.iteration_s) + (does_fit ? "" : "!"));
    if (!does_fit) large = memory_note(outcomes[i].scenario);
  }
  chart.note = large + caveat_with_source(scenario.profile);
  const auto shards = [](const Outcome& one) { return one.result.plan.sharding.shards_optimizer(); };
  const bool some_shard =
      std::any_of(outcomes.begin(), outcomes.end(), shards) && !std::all_of(outcomes.begin(), outcomes.end(), shards);
  if (const auto bound = lower_bound(outcomes); bound && names.on_one_network())
    chart.mark = BarMark{fmt::format("no lossless schedule{} is faster than {}",
                                     some_shard ? ", with shards or without," : "", format_duration(*bound)),
                         *bound / unit.size};
  return chart;
}

}  // namespace allreplay
