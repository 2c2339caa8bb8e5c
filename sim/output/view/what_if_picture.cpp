#include <algorithm>

#include <fmt/format.h>

#include "sim/output/picture/row_chart.hpp"
#include "sim/output/picture/style.hpp"
#include "sim/output/report/phrases.hpp"
#include "sim/output/report/report.hpp"
#include "sim/output/report/what_if_report.hpp"
#include "sim/output/view/pictures.hpp"

namespace allreplay {

namespace {

struct Gain {
  std::string name;
  double percent = 0;
  bool fits = true;
};

// Gains are blue and losses orange, which is lighter in greyscale print; bars that do not fit into memory are hatched.
Look look_of_gain(bool more, bool fits) {
  const Colour fill = more ? style::blue : style::orange;
  if (fits) return {.fill = fill};
  return {.fill = colour(0xFFFFFF), .hatch = Hatch::Rising, .hatch_colour = fill, .line = fill, .width = 0.8};
}

}  // namespace

Drawing what_if_picture(const WhatIf& answer) {
  const auto& [scenario, result, wall_s] = answer.base.outcome;
  std::string note = caveat_with_source(scenario.profile);
  if (!note.empty()) note.back() = '.';  // replaces the newline
  std::vector<Gain> gains;
  for (const auto* rows : {&answer.together, &answer.rows}) {
    for (const WhatIfRow& row : *rows)
      if (row.outcome.scenario.workers == scenario.workers) gains.push_back({row.change, 100 * row.gain, row.fits});
    if (rows == &answer.together && answer.bound_s)
      gains.push_back({"perfect overlap (the bound)", 100 * answer.bound_gain});
  }
  std::stable_sort(gains.begin(), gains.end(),
                   [](const Gain& a, const Gain& b) { return a.fits != b.fits ? a.fits : a.percent > b.percent; });
  RowChart chart{.title = fmt::format("{}, {}: {} an iteration", title(scenario), scenario.strategy->name,
                                      format_duration(result.metrics.iteration_s)),
                 .note = note + (note.empty() ? "" : " ") + "More workers are only in the table.",
                 .x = {.name = "samples per second, relative to now", .label = [](double percent) {
                         return fmt::format("{}{:g} %", percent > 0 ? "+" : "", percent);
                       }}};
  for (const auto& [name, percent, does_fit] : gains) {
    const bool more = percent > 0;
    const std::string kind = fmt::format("{}{}", more ? "more" : "less",
                                         does_fit ? ""
                                         : more   ? ", but does not fit into the memory"
                                                  : ", and does not fit into the memory");
    chart.rows.push_back(
        {.name = name, .parts = {{kind, percent, look_of_gain(more, does_fit)}}, .end = gain_text(percent / 100)});
  }
  return draw(chart);
}

}  // namespace allreplay
