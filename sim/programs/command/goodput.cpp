#include "sim/studies/jobs/goodput.hpp"

#include "sim/output/report/result_rows.hpp"
#include "sim/output/report/run_report.hpp"
#include "sim/programs/command/command.hpp"

namespace allreplay {

namespace {

struct GoodputArguments {
  ScenarioArguments scenario;
  std::string strategy, plan, mtbf, checkpoint, restart, interval = "optimal", repair, spares, horizon, seed = "0";
  TrainingArguments training;
  bool elastic = false, json = false;
};

Reliability reliability_of(const GoodputArguments& arguments) {
  const auto duration = [](const char* name, const std::string& text) {
    return parse_long_duration(text, argument(name));
  };
  Reliability reliability{.mtbf = duration("--mtbf", arguments.mtbf),
                          .checkpoint = duration("--checkpoint", arguments.checkpoint),
                          .restart = duration("--restart", arguments.restart),
                          .interval = parse_checkpoint_interval(arguments.interval, argument("--interval")),
                          .elastic = arguments.elastic,
                          .seed = parse_seed(arguments.seed)};
  if (!arguments.repair.empty()) reliability.repair = duration("--repair", arguments.repair);
  if (!arguments.spares.empty())
    reliability.spares = parse_integer(arguments.spares, 0, most_spares, argument("--spares"));
  if (!arguments.horizon.empty()) reliability.horizon = duration("--horizon", arguments.horizon);
  require_possible(reliability, argument("--mtbf"), argument("--horizon"));
  return reliability;
}

void execute(Context& context, const GoodputArguments& arguments) {
  require_strategy_or_plan(arguments.strategy, arguments.plan);
  const Reliability reliability = reliability_of(arguments);
  const Training training = arguments.training.training();
  Library library(context.inputs);
  const Request request = arguments.scenario.request(arguments.strategy, arguments.plan);
  Scenario scenario = library.resolve(request);
  require_countable(training, {&scenario, 1});
  const Outcome outcome = run_with_progress(context.console, std::move(scenario));
  context.console.warn(outcome.result.warning);
  warn_of_idle_options(context.console, arguments.scenario, {&outcome, 1});
  const Watch watch = context.console.watch("goodput: numbers of nodes, of which not all may occur");
  const Goodput goodput = goodput_of(reliability, goodput_job(library, request, outcome, watch), argument("--horizon"));
  const ScalingReference reference = scaling_reference(outcome, context.console.watch("scaling reference"));
  JsonValue json = arguments.json ? run_json(outcome, reference, training) : run_document(outcome, reference, training);
  json["goodput"] = arguments.json ? goodput_json(goodput) : goodput_document(goodput, reliability);
  if (const double useful = useful_share(goodput, reliability); training.is_asked() && useful > 0)
    json["goodput"].update(cost_json(cost_of(training, outcome, useful)));
  context.console.show(goodput_of_run_view(), json, arguments.json);
}

}  // namespace

void add_goodput(CommandLine& app) {
  auto [command, arguments] =
      app.add<GoodputArguments>("goodput", "the throughput that is left with failures and checkpoints", execute);
  add_scenario_options(command, arguments.scenario);
  add_strategy_or_plan(command, arguments.strategy, arguments.plan);
  add_training_options(command, arguments.training);
  command.get_option("--strategy").required().unless(command.get_option("--plan"));
  command
      .add_option("--mtbf", arguments.mtbf, values::duration,
                  "mean time between failures of one node, such as \"200 d\"")
      .required();
  command
      .add_option("--checkpoint", arguments.checkpoint, values::duration,
                  "how long computation stops for a checkpoint, such as \"60 s\"")
      .required();
  command
      .add_option("--restart", arguments.restart, values::duration,
                  "time from a failure until computation continues, such as \"5 min\"")
      .required();
  command.add_option("--interval", arguments.interval, {.name = "TIME|N", .choices = "optimal"},
                     "time between checkpoints: a duration, a number of iterations, or optimal");
  command.add_option("--repair", arguments.repair, values::duration,
                     "with --spares: time until a failed node is a spare again (0 s)");
  command.add_option("--spares", arguments.spares, values::number, "nodes on standby (unlimited)");
  command.add_flag("--elastic", arguments.elastic,
                   "with --spares: also simulate continuing with fewer nodes when there is no spare");
  command.add_option("--horizon", arguments.horizon, values::duration,
                     "how long to simulate (1000 failures on average)");
  command.add_option("--seed", arguments.seed, values::number, "seed of the simulated failures");
  command.add_flag("--json", arguments.json, "print one JSON object");
  command.footer =
      "Example:\n  allreplay goodput --profile llama3-8b_h100_b1_bf16 --cluster dgx-8x8-100gbps --strategy fsdp2 "
      "--mtbf \"200 d\" --checkpoint \"60 s\" --restart \"5 min\"";
}

}  // namespace allreplay
