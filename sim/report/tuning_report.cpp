#include "sim/report/tuning_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/cluster/describe.hpp"
#include "sim/core/csv.hpp"
#include "sim/core/json_value.hpp"
#include "sim/core/text.hpp"
#include "sim/report/report.hpp"

namespace allreplay {

namespace {

// How far above the fastest trial, as a bar of at most 20 marks for twice the time.
std::string bar(double ratio) {
  return std::string(static_cast<std::size_t>(std::clamp(20 * (ratio - 1), 0.0, 20.0) + 0.5), '#');
}

}  // namespace

std::string tuning_report(const Tuning& tuning, const Screen& screen) {
  const double best = tuning.tuned.result.metrics.iteration_s, given = tuning.given.result.metrics.iteration_s;
  std::vector<TableColumn> columns{"trial"};
  for (const Range& range : tuning.ranges) columns.emplace_back(range.option);
  columns.insert(columns.end(), {"iteration", "above best", ""});
  Table table(columns);
  for (std::size_t i = 0; i < tuning.trials.size(); ++i) {
    const Trial& trial = tuning.trials[i];
    const bool wins = i == tuning.best && !tuning.as_given;
    const Tone tone = wins ? Tone::Best : Tone::Plain;
    std::vector<TableCell> row{cell::count(static_cast<std::int64_t>(i + 1))};
    row.insert(row.end(), trial.values.begin(), trial.values.end());
    const double ratio = trial.iteration_s / best;
    row.insert(row.end(), {cell::seconds(trial.iteration_s).with(tone), cell::percent(ratio - 1, 2),
                           wins         ? "* best"
                           : trial.fits ? bar(ratio)
                                        : "does not fit"});
    table.add(std::move(row));
  }
  const Scenario& scenario = tuning.given.scenario;
  const Metrics& metrics = tuning.tuned.result.metrics;
  const std::string heading = fmt::format("{}: {} on {}, {}, {}, {}", scenario.strategy->name, scenario.profile->name,
                                          named_with_routing(scenario.cluster), counted(scenario.workers, "worker"),
                                          tuning.given.result.collective, to_string(tuning.given.result.fidelity));
  std::vector<std::string> settings;
  for (std::size_t i = 0; i < tuning.ranges.size(); ++i)
    settings.insert(settings.end(), {"--option", tuning.ranges[i].option + "=" + tuning.trials[tuning.best].values[i]});
  const std::string time = format_duration(best), before = format_duration(given);
  std::string text = tuning.as_given ? fmt::format("best: the default options: {}", before)
                                     : fmt::format("best: `{}`: {}, ", shell_words(settings), time);
  if (!tuning.as_given)
    text += time == before
                ? "and with default options hardly more"
                : fmt::format("{:.2f} % less than {} with default options", 100 * (1 - best / given), before);
  if (metrics.lower_bound_s)
    text += fmt::format("; {:.1f} % above the lower bound", 100 * (metrics.iteration_s / *metrics.lower_bound_s - 1));
  return wrapped(heading, screen.width) + "\n\n" + table.text(screen) + "\n" + wrapped(text, screen.width) + "\n" +
         wrapped(caveat(scenario.profile), screen.width, 2);
}

std::string tuning_csv(const Tuning& tuning) {
  const Scenario& scenario = tuning.given.scenario;
  const std::string about =
      fmt::format("{},{},{},{},{}", csv_field(scenario.profile->name), csv_field(scenario.cluster.name),
                  scenario.strategy->name, scenario.workers, to_string(scenario.profile->origin));
  std::string text = "profile,cluster,strategy,workers,origin,trial";
  for (const Range& range : tuning.ranges) text += "," + csv_field(range.option);
  text += ",iteration_s,best_so_far_s\n";
  std::size_t best = 0;
  for (std::size_t i = 0; i < tuning.trials.size(); ++i) {
    if (better(tuning.trials[i], tuning.trials[best])) best = i;
    text += fmt::format("{},{}", about, i + 1);
    for (const std::string& value : tuning.trials[i].values) text += "," + csv_field(value);
    text += fmt::format(",{},{}\n", tuning.trials[i].iteration_s, tuning.trials[best].iteration_s);
  }
  return text;
}

JsonValue tuning_json(const Tuning& tuning) {
  const auto options = [&](const Trial& trial) {
    JsonValue value = JsonValue::object();
    for (std::size_t i = 0; i < tuning.ranges.size(); ++i) value[tuning.ranges[i].option] = trial.values[i];
    return value;
  };
  JsonValue trials = JsonValue::array();
  for (const Trial& trial : tuning.trials)
    trials.push_back({{"options", options(trial)}, {"iteration_s", trial.iteration_s}});
  const Metrics& metrics = tuning.tuned.result.metrics;
  JsonValue value{{"profile", tuning.given.scenario.profile->name},
                  {"cluster", tuning.given.scenario.cluster.name},
                  {"strategy", tuning.given.scenario.strategy->name},
                  {"workers", tuning.given.scenario.workers},
                  {"given_iteration_s", tuning.given.result.metrics.iteration_s},
                  {"best",
                   {{"options", tuning.as_given ? JsonValue::object() : options(tuning.trials[tuning.best])},
                    {"iteration_s", metrics.iteration_s}}}};
  value["lower_bound_s"] = metrics.lower_bound_s;
  value["trials"] = std::move(trials);
  return value;
}

}  // namespace allreplay
