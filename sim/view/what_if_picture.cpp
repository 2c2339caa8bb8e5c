#include "sim/view/what_if_picture.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/report/phrases.hpp"
#include "sim/report/report.hpp"
#include "sim/report/what_if_report.hpp"

namespace allreplay {

TornadoChart what_if_chart(const WhatIf& answer) {
  const auto& [scenario, result, wall_s] = answer.base.outcome;
  TornadoChart chart;
  chart.title = fmt::format("{}, {}: {} an iteration", title(scenario), scenario.strategy->name,
                            format_duration(result.metrics.iteration_s));
  std::string note = caveat_with_source(scenario.profile);
  if (!note.empty()) note.back() = '.';  // in the place of its line's end
  chart.note = note + (note.empty() ? "" : " ") + "More workers are only in the table.";
  chart.value = {.name = "samples per second, relative to now",
                 .label = [](double percent) { return fmt::format("{}{:g} %", percent > 0 ? "+" : "", percent); }};
  const auto add = [&, workers = scenario.workers](const WhatIfRow& row) {
    if (row.outcome.scenario.workers != workers) return;
    chart.bars.push_back({row.change, 100 * row.gain, gain_text(row.gain), !row.fits});
    if (!row.fits) chart.pale_name = "does not fit into the memory";
  };
  for (const WhatIfRow& row : answer.together) add(row);
  if (answer.bound_s)
    chart.bars.push_back({"perfect overlap (the bound)", 100 * answer.bound_gain, gain_text(answer.bound_gain)});
  for (const WhatIfRow& row : answer.rows) add(row);
  std::stable_sort(chart.bars.begin(), chart.bars.end(), [](const TornadoBar& a, const TornadoBar& b) {
    return a.pale != b.pale ? b.pale : a.value > b.value;
  });
  return chart;
}

}  // namespace allreplay
