#include "sim/output/view/compare_picture.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/output/picture/style.hpp"
#include "sim/output/report/phrases.hpp"
#include "sim/output/report/report.hpp"
#include "sim/output/report/scenario_labels.hpp"
#include "sim/output/report/verdict.hpp"
#include "sim/output/view/activity_looks.hpp"
#include "sim/replay/training/memory.hpp"

namespace allreplay {

namespace {

// Returns where to end the axis so that a few very long bars do not make the others unreadably short.
std::optional<double> end_of_axis(std::vector<double> lengths) {
  constexpr double several = 3, room = 1.1;
  std::sort(lengths.begin(), lengths.end());
  const double most = several * lengths[lengths.size() / 2];
  if (lengths.back() <= most) return std::nullopt;
  return room * *std::prev(std::upper_bound(lengths.begin(), lengths.end(), most));
}

// Returns each outcome's standing in its race: "", ", wins", ", ties", ", 1.25 times as long", or its rate if numbers
// of samples differ; with " !" if it does not fit into memory.
std::vector<std::string> standings(const Ranking& race, const std::vector<Outcome>& outcomes) {
  std::vector<std::string> texts;
  const double least = seconds_of_equal_work(outcomes[race.order.front()]);
  const bool per_sample = samples_differ(race, outcomes);
  for (std::size_t i = 0; i < race.order.size(); ++i) {
    const Outcome& one = outcomes[race.order[i]];
    const Metrics& m = one.result.metrics;
    std::string text;
    if (per_sample)
      text = ", " + rate_text(m.samples_per_s, static_cast<double>(batches_of_iteration(one)) / m.iteration_s);
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

}  // namespace

BarChart compare_chart(const Comparison& comparison) {
  const auto& [outcomes, references, rule, by_offer, training] = comparison;
  std::vector<const Outcome*> shown;  // in the table's order
  std::vector<std::string> names, ends;
  const ScenarioLabels labels = labels_of(outcomes);
  const std::vector<OutcomeGroup> groups = groups_of(outcomes, rule, by_offer);
  std::vector<Ranking> all;
  for (const OutcomeGroup& group : groups)
    for (Ranking& race : races(outcomes, rule, group)) all.push_back(std::move(race));
  for (const Ranking& race : all) {
    const std::vector<std::string> standing = standings(race, outcomes);
    for (std::size_t i = 0; i < race.order.size(); ++i) {
      shown.push_back(&outcomes[race.order[i]]);
      names.push_back(labels.label(race.order[i]));
      ends.push_back(format_duration(shown.back()->result.metrics.iteration_s) + standing[i]);
    }
  }
  const Scenario& scenario = outcomes.front().scenario;
  std::vector<double> lengths;
  for (const Outcome* one : shown) lengths.push_back(one->result.metrics.iteration_s);
  const std::optional<double> end = end_of_axis(lengths);
  const FittingUnit unit = unit_of_duration(end.value_or(*std::max_element(lengths.begin(), lengths.end())));

  BarChart chart{
      .title = labels.title(),
      .verdict = rendered(verdict_view(), {{"races", verdicts_of(outcomes, rule, groups)}}, {.width = 10'000}),
      .bars = std::move(names),
      .ends = std::move(ends)};
  chart.value.name = fmt::format("time per iteration ({})", unit.name);
  if (end) chart.value.to = *end / unit.size;
  const auto add_part = [&](const std::string& name, const Look& look, const auto& seconds) {
    BarPart bars{name, {}, look};
    // With jitter the mean of a part may come out slightly negative.
    for (const Outcome* one : shown) bars.values.push_back(std::max(0.0, seconds(*one)) / unit.size);
    if (std::any_of(bars.values.begin(), bars.values.end(), [](double value) { return value > 0; }))
      chart.parts.push_back(bars);
  };
  const auto of = [](double Metrics::*part) { return [=](const Outcome& one) { return one.result.metrics.*part; }; };
  // Computing time of a worker; in a pipeline the average over its ranks.
  const auto of_passes = [](double Metrics::*pass) {
    return [=](const Outcome& one) {
      return one.result.metrics.*pass * static_cast<double>(one.result.plan.sharding.accumulate) /
             static_cast<double>(one.scenario.options.parallel.pp);
    };
  };
  add_part("forward", look_of(Activity::Forward), of_passes(&Metrics::forward_s));
  add_part("backward", look_of(Activity::Backward), of_passes(&Metrics::backward_s));
  add_part("update", look_of(Activity::Update), of(&Metrics::update_s));
  add_part("host", look_of(Activity::HostStep), of(&Metrics::host_step_s));
  add_part("codec", look_of(Activity::Codec), of(&Metrics::codec_s));
  add_part("bubble", look_of_idle(),
           [](const Outcome& one) { return one.result.parallel ? one.result.parallel->bubble_s : 0; });
  add_part("stragglers", look_of_stragglers(), of(&Metrics::straggler_s));
  add_part("exposed communication", look_of_waiting(), of(&Metrics::exposed_comm_s));
  std::vector<std::string> notes;
  if (std::any_of(shown.begin(), shown.end(), [](const Outcome* one) { return !fits(one->scenario, one->result); }))
    notes.emplace_back("!: does not fit into a worker's memory.");
  if (end) notes.emplace_back("Bars that are cut off extend to the times at their ends.");
  if (std::string caveat = caveat_with_source(scenario.profile); !caveat.empty()) {
    caveat.back() = '.';  // replaces the newline
    notes.push_back(std::move(caveat));
  }
  chart.note = fmt::format("{}", fmt::join(notes, " "));
  const auto [any, sharded] = least_bounds(outcomes);
  if ((any || sharded) && labels.differ_only_by_strategy()) {
    const bool shards = sharded && (!any || *sharded < *any);
    const double least = shards ? *sharded : *any;
    chart.mark = BarMark{fmt::format("{}: {}", shards ? "least bound with shards" : "lower bound without shards",
                                     format_duration(least)),
                         least / unit.size};
  }
  return chart;
}

}  // namespace allreplay
