#include "sim/output/report/tuning_report.hpp"

#include <fmt/format.h>

#include "sim/base/core/csv.hpp"
#include "sim/output/report/notes.hpp"
#include "sim/output/report/report.hpp"
#include "sim/output/report/result_rows.hpp"

namespace allreplay {

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
  value["trials"] = array_of(tuning.trials, [&](const Trial& trial) {
    return JsonValue{{"options", options(trial)}, {"iteration_s", trial.iteration_s}};
  });
  return value;
}

JsonValue tuning_document(const Tuning& tuning) {
  JsonValue value = tuning_json(tuning);
  const Metrics& metrics = tuning.tuned.result.metrics;
  for (std::size_t i = 0; i < tuning.trials.size(); ++i) {
    JsonValue& trial = value["trials"][i];
    trial["trial"] = i + 1;
    trial["fits"] = tuning.trials[i].fits;
    trial["above_best_share"] = tuning.trials[i].iteration_s / metrics.iteration_s - 1;
  }
  value["title"] = title(tuning.given.scenario);
  value["saves_share"] = 1 - metrics.iteration_s / tuning.given.result.metrics.iteration_s;
  if (metrics.lower_bound_s) value["above_bound_share"] = metrics.iteration_s / *metrics.lower_bound_s - 1;
  std::vector<std::string> settings;
  for (std::size_t i = 0; i < tuning.ranges.size() && !tuning.as_given; ++i)
    settings.insert(settings.end(), {"--option", tuning.ranges[i].option + "=" + tuning.trials[tuning.best].values[i]});
  value["settings"] = settings;
  value["notes"] = JsonValue::array();
  add_note_on_misfits(value["notes"], value["trials"]);
  append(value["notes"], note_on_origin(tuning.tuned));
  return value;
}

const View& tuning_view() {
  static const View view{{
      ViewText{"{strategy}: {title}"},
      ViewTable{"trials",
                {{"trial", "{trial}"},
                 {"options", "{options}"},
                 quantity("{iteration_s}", "", "! !fits"),
                 {"above best", "{above_best_share}"}},
                2},
      ViewText{"best: `{settings:words}`: {best/iteration_s}, {saves_share} less than {given_iteration_s} with default "
               "options[; {above_bound_share} above the lower bound]",
               "settings"},
      ViewText{"best: the default options: {given_iteration_s}", "!settings"},
      ViewNotes{},
  }};
  return view;
}

}  // namespace allreplay
