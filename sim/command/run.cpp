#include "sim/experiment/run.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "sim/command/command.hpp"
#include "sim/core/file.hpp"
#include "sim/picture/picture_file.hpp"
#include "sim/view/timeline_picture.hpp"
#include "sim/view/trace_events.hpp"

namespace allreplay {

namespace {

struct RunArguments {
  ScenarioArguments scenario;
  std::string strategy, plan, timeline;
  bool json = false;
};

// An option of another strategy or collective changes nothing, and whoever gave it believes otherwise.
void warn_of_idle_options(const ScenarioArguments& arguments, const Outcome& outcome) {
  const NamedValues used = options_that_matter(outcome.scenario);
  for (const OptionText& option : arguments.request("").options) {
    const auto steps = step_options();
    const bool counts =
        option.name == "sharing" || std::find(steps.begin(), steps.end(), option.name) != steps.end() ||
        std::any_of(used.begin(), used.end(), [&](const auto& one) { return one.first == option.name; });
    if (!counts)
      warn(fmt::format("{} changes nothing here: {} on {} does not read it", option.name,
                       outcome.scenario.strategy->name, outcome.result.collective));
  }
}

bool is_trace(const std::string& file) { return std::filesystem::path(file).extension() == ".json"; }

void write_timeline(const std::string& file, const Outcome& outcome) {
  if (is_trace(file))
    write_file(file, trace_events(outcome));
  else
    write_picture(file, timeline_picture({outcome}));
}

void execute(const RunArguments& arguments) {
  require_strategy_or_plan(arguments.strategy, arguments.plan);
  if (!arguments.timeline.empty()) {
    if (!is_trace(arguments.timeline))
      require_picture(arguments.timeline, argument("--timeline"), ", or .json for ui.perfetto.dev");
    require_separate({{"--timeline", arguments.timeline}}, arguments.scenario.files({arguments.plan}));
  }
  Library library;
  Outcome outcome = run(library.resolve(arguments.scenario.request(arguments.strategy, arguments.plan)));
  if (!arguments.timeline.empty()) write_timeline(arguments.timeline, outcome);
  warn(outcome.result.warning);
  warn_of_idle_options(arguments.scenario, outcome);
  print("{}", arguments.json ? to_json(row_of(outcome)) + "\n" : run_report(outcome));
  hand_over(std::move(outcome));
}

}  // namespace

void add_run(CommandLine& app) {
  auto arguments = std::make_shared<RunArguments>();
  Command command = app.add_subcommand("run", "simulate one strategy and say where the time goes");
  add_scenario_options(command, arguments->scenario);
  add_strategy_or_plan(command, arguments->strategy, arguments->plan);
  command.add_flag("--json", arguments->json, "print one JSON object");
  command.add_option("--timeline", arguments->timeline,
                     "draw the iteration: FILE.svg, .png or .pdf, a picture; FILE.json, a trace for ui.perfetto.dev");
  command.footer(
      "Example:\n  allreplay run --profile resnet50_k80_b16 --cluster k80-10gbe --workers 64 --strategy mg-wfbp\n"
      "  allreplay run --profile resnet50_k80_b16 --cluster k80-10gbe --strategy wfbp --timeline wfbp.svg");
  command.callback([arguments] { execute(*arguments); });
}

}  // namespace allreplay
