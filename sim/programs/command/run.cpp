#include "sim/studies/experiment/run.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/output/picture/picture_file.hpp"
#include "sim/output/report/report.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/output/report/run_report.hpp"
#include "sim/output/report/topology_report.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/output/view/traces.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/programs/command/config_words.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/studies/experiment/memory_remedy.hpp"

namespace allreplay {

namespace {

struct RunArguments {
  ScenarioArguments scenario;
  std::string strategy, plan, timeline, plot;
  TrainingArguments training;
  bool json = false, links = false;
};

bool is_trace(const std::string& file) { return std::filesystem::path(file).extension() == ".json"; }

void write_timeline(const Files& files, const std::string& file, const Outcome& outcome, const LinkUsage* usage) {
  if (is_trace(file))
    files.write(file, trace_events(outcome, usage));
  else
    write_picture(files, file, timeline_picture({outcome}));
}

void execute(Context& context, const RunArguments& arguments) {
  require_strategy_or_plan(arguments.strategy, arguments.plan);
  if (!arguments.timeline.empty() && !is_trace(arguments.timeline))
    require_picture(arguments.timeline, argument("--timeline"), ", or .json for ui.perfetto.dev");
  if (!arguments.timeline.empty() || !arguments.plot.empty())
    require_separate(context.files(),
                     {{"--timeline", arguments.timeline, false, mark_of_traces}, picture_at("--plot", arguments.plot)},
                     arguments.scenario.files(context.files(), {arguments.plan}));
  const Training training = arguments.training.training();
  Library library(context.inputs);
  const Request request = arguments.scenario.request(arguments.strategy, arguments.plan);
  Scenario scenario = library.resolve(request);
  require_countable(training, {&scenario, 1});
  Outcome outcome = run_with_progress(context.console, std::move(scenario));
  std::optional<LinkUsage> usage;
  if (arguments.links || !arguments.plot.empty())
    usage = link_usage(outcome.scenario, outcome.result, argument(arguments.links ? "--links" : "--plot"));
  if (!arguments.timeline.empty()) {
    constexpr std::size_t many = 50'000;  // about ten megabytes
    if (const std::size_t bars = outcome.result.episodes.back().timeline.spans.size(); bars > many)
      context.console.note_on_success(fmt::format(
          "{} draws {} tasks, which makes a large file (for fewer: --micro-batches)", arguments.timeline, bars));
    write_timeline(context.files(), arguments.timeline, outcome, usage ? &*usage : nullptr);
  }
  if (!arguments.plot.empty())
    write_picture(context.files(), arguments.plot,
                  links_picture(*usage, *outcome.scenario.cluster.network.topology,
                                fmt::format("{}, {}", title(outcome.scenario), outcome.scenario.strategy->name)));
  context.console.warn(outcome.result.warning);
  context.console.note(outcome.result.note);
  warn_of_idle_options(context.console, arguments.scenario, {&outcome, 1});
  const ScalingReference reference = scaling_reference(outcome, context.console.watch("scaling reference"));
  if (arguments.json) {
    JsonValue json = run_json(outcome, reference, training);
    if (arguments.links) json["links"] = links_json(*usage);
    context.console.print_json(json);
  } else {
    JsonValue document = run_document(outcome, reference, training);
    if (!fits(outcome.scenario, outcome.result)) document["remedy"] = remedy_json(memory_remedy(library, request));
    context.console.show(run_view(), document);
    if (arguments.links) {
      context.console.print("\n");
      context.console.show(links_view(), links_document(*usage));
    }
  }
  context.console.hand_over(std::move(outcome));
}

}  // namespace

void add_run(CommandLine& app) {
  auto [command, arguments] =
      app.add<RunArguments>("run", "simulate one strategy and show where the time goes", execute);
  add_model_options(command, add_scenario_options(command, arguments.scenario), arguments.scenario);
  add_config_option(command, arguments.scenario.configs);
  add_strategy_or_plan(command, arguments.strategy, arguments.plan);
  add_training_options(command, arguments.training);
  add_seeds_option(command, arguments.scenario.seeds);
  command.add_flag("--json", arguments.json, "print one JSON object");
  command.add_option("--timeline", arguments.timeline, values::file,
                     "draw the iteration: FILE.svg, .png or .pdf, a picture; FILE.json, a trace for ui.perfetto.dev");
  command.add_flag(
      "--links", arguments.links,
      "fluid, message: print the use of each kind of link, and the hottest links by name; over time in --timeline");
  command.add_option("--plot", arguments.plot, values::file,
                     "fluid, message: draw the topology, its links coloured by use: FILE.svg, .png or .pdf");
  command.footer =
      "Example:\n  allreplay run --profile resnet50_k80_b16 --cluster k80-10gbe --workers 64 --strategy mg-wfbp\n"
      "  allreplay run --profile resnet50_k80_b16 --cluster k80-10gbe --strategy wfbp --timeline wfbp.svg";
}

}  // namespace allreplay
