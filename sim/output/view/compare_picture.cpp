#include "sim/output/view/compare_picture.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "sim/base/core/statistics.hpp"
#include "sim/output/picture/style.hpp"
#include "sim/output/report/phrases.hpp"
#include "sim/output/report/report.hpp"
#include "sim/output/report/verdict.hpp"
#include "sim/output/view/activity_looks.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/studies/results/scenario_labels.hpp"

namespace allreplay {

namespace {

// True if it fits, but leaves less memory free than the rule asks for.
bool is_tight(const Outcome& one, const WinningRule& rule) {
  const auto free = free_share(one.scenario.options.memory.limit, one.result.memory.peak);
  return fits(one.scenario, one.result) && !leaves_room(free, rule);
}

// Returns each outcome's standing in its race: "", ", wins", ", ties", ", 1.25 times as long", or its rate if numbers
// of samples differ; with " !" if it does not fit into memory, " *" if it leaves too little free.
std::vector<std::string> standings(const Ranking& race, const std::vector<Outcome>& outcomes, const WinningRule& rule) {
  std::vector<std::string> texts;
  const double least = seconds_of_equal_work(outcomes[race.order.front()]);
  const bool per_sample = samples_differ(race, outcomes);
  for (std::size_t i = 0; i < race.order.size(); ++i) {
    const Outcome& one = outcomes[race.order[i]];
    const Metrics& m = one.result.metrics;
    std::string text;
    if (per_sample)
      text = ", " + rate_text(m.samples_per_s, static_cast<double>(batches_of_iteration(one)) / m.iteration_s);
    if (is_tight(one, rule)) text += " *";
    if (!fits(one.scenario, one.result))
      text += " !";
    else if (race.order.size() > 1 && i < race.tied)
      text += i == 0 ? ", wins" : ", ties";
    else if (race.order.size() > 1 && !per_sample)
      text += ", " + longer_text(seconds_of_equal_work(one) / least);
    texts.push_back(std::move(text));
  }
  return texts;
}

// Computing time of a worker; in a pipeline the average over its ranks.
double of_passes(const Outcome& one, double seconds) {
  return seconds * static_cast<double>(one.result.plan.sharding.accumulate) /
         static_cast<double>(one.scenario.options.parallel.pp);
}

std::vector<RowPart> parts_of(const Outcome& one, const FittingUnit& unit) {
  const Metrics& m = one.result.metrics;
  std::vector<RowPart> parts{{"forward", of_passes(one, m.forward_s), look_of(Activity::Forward)},
                             {"backward", of_passes(one, m.backward_s), look_of(Activity::Backward)},
                             {"update", m.update_s, look_of(Activity::Update)},
                             {"host", m.host_step_s, look_of(Activity::HostStep)},
                             {"codec", m.codec_s, look_of(Activity::Codec)},
                             {"bubble", one.result.parallel ? one.result.parallel->bubble_s : 0, look_of_idle()},
                             {"stragglers", m.straggler_s, look_of_stragglers()},
                             {"exposed communication", m.exposed_comm_s, look_of_waiting()}};
  // With jitter the mean of a part may come out slightly negative.
  for (RowPart& part : parts) part.value = std::max(0.0, part.value) / unit.size;
  return parts;
}

// The 95 % confidence interval of the mean over seeds.
std::optional<RowError> error_of(const Result& result, const FittingUnit& unit) {
  if (result.by_seed.empty()) return std::nullopt;
  const Summary summary = summary_of(result.by_seed);
  if (!summary.confidence) return std::nullopt;
  return RowError{(summary.mean - *summary.confidence) / unit.size, (summary.mean + *summary.confidence) / unit.size};
}

// Returns where to end the axis so that a few very long bars do not make the others unreadably short.
std::optional<double> end_of_axis(const std::vector<Outcome>& outcomes) {
  constexpr double several = 3;
  std::vector<double> lengths;
  for (const Outcome& one : outcomes) lengths.push_back(one.result.metrics.iteration_s);
  std::ranges::sort(lengths);
  const double most = several * lengths[lengths.size() / 2];
  return lengths.back() > most ? std::optional(most) : std::nullopt;
}

std::string note_on(const std::vector<Outcome>& outcomes, const WinningRule& rule) {
  const bool all_fit = std::ranges::all_of(outcomes, [](const Outcome& one) { return fits(one.scenario, one.result); });
  std::string caveat = caveat_with_source(outcomes.front().scenario.profile);
  if (!caveat.empty()) caveat.back() = '.';  // replaces the newline
  const bool seeded = std::ranges::any_of(outcomes, [](const Outcome& one) { return one.result.by_seed.size() > 1; });
  const bool any_tight = std::ranges::any_of(outcomes, [&](const Outcome& one) { return is_tight(one, rule); });
  return (any_tight ? fmt::format("*: leaves less than {} of the memory free. ", percent(rule.headroom)) : "") +
         std::string(all_fit ? "" : "!: does not fit into a worker's memory. ") +
         std::string(seeded ? "Lines at the ends of bars: 95 % confidence interval of the mean over seeds. " : "") +
         caveat;
}

// The least lower bound of all outcomes.
std::optional<RowMark> bound_of(const std::vector<Outcome>& outcomes, const FittingUnit& unit) {
  const auto [any, sharded] = least_bounds(outcomes);
  if (!any && !sharded) return std::nullopt;
  const bool shards = sharded && (!any || *sharded < *any);
  const double least = shards ? *sharded : *any;
  return RowMark{
      fmt::format("{}: {}", shards ? "least bound with shards" : "lower bound without shards", format_duration(least)),
      least / unit.size};
}

}  // namespace

RowChart compare_chart(const Comparison& comparison) {
  const auto& [outcomes, references, rule, by_offer, training, over_best, misfit] = comparison;
  const ScenarioLabels labels = labels_of(outcomes);
  const std::vector<OutcomeGroup> groups = groups_of(outcomes, rule, by_offer);
  double longest = 0;
  for (const Outcome& one : outcomes) longest = std::max(longest, one.result.metrics.iteration_s);
  const std::optional<double> end = end_of_axis(outcomes);
  const FittingUnit unit = unit_of_duration(end.value_or(longest));
  RowChart chart{
      .title = labels.title(),
      .verdict = rendered(verdict_view(), {{"races", verdicts_of(outcomes, rule, groups)}}, {.width = 10'000}),
      .note = note_on(outcomes, rule),
      .x = {.name = fmt::format("time per iteration ({}){}", unit.name, end ? ", longer bars are cut off" : "")}};
  if (end) chart.x.to = *end / unit.size;
  for (const OutcomeGroup& group : groups)
    for (const Ranking& race : races(outcomes, rule, group)) {
      const std::vector<std::string> standing = standings(race, outcomes, rule);
      for (std::size_t i = 0; i < race.order.size(); ++i) {
        const Outcome& one = outcomes[race.order[i]];
        chart.rows.push_back({.name = labels.label(race.order[i]),
                              .parts = parts_of(one, unit),
                              .end = format_duration(one.result.metrics.iteration_s) + standing[i],
                              .error = error_of(one.result, unit)});
      }
    }
  if (labels.differ_only_by_strategy()) chart.mark = bound_of(outcomes, unit);
  return chart;
}

}  // namespace allreplay
