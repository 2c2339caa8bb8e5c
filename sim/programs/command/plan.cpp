#include <fmt/format.h>

#include "sim/formats/interchange/plan_file.hpp"
#include "sim/output/report/plan_report.hpp"
#include "sim/plans/schedule/pytorch_buckets.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/studies/search/plan_of.hpp"

namespace allreplay {

namespace {

struct PlanArguments {
  ScenarioArguments scenario;
  std::string strategy;
  bool json = false, pytorch = false;
};

std::string code_of(const Scenario& scenario, const Plan& plan) {
  const auto buckets = pytorch_buckets(plan, scenario.profile);
  if (!buckets || scenario.codec)
    throw InputError(
        argument("--pytorch"),
        fmt::format("the plan of {}{} does not send whole parameters, the last first, in all-reduces one after another",
                    plan.strategy, scenario.codec ? ", compressed," : ""),
        "--strategy optimal-merge, the best of such plans");
  return pytorch_code(plan, *buckets);
}

void execute(Context& context, const PlanArguments& arguments) {
  Library library(context.inputs);
  const Scenario scenario = library.resolve(arguments.scenario.request(arguments.strategy));
  const Plan plan = plan_of(scenario, context.console.watch("plans"));
  if (arguments.pytorch) return context.console.print("{}\n", code_of(scenario, plan));
  if (arguments.json) return context.console.print("{}\n", write_plan(plan, scenario.profile, scenario.options.dtypes));
  context.console.show(plan_view(), plan_summary(scenario, plan));
}

}  // namespace

void add_plan(CommandLine& app) {
  auto [command, arguments] =
      app.add<PlanArguments>("plan", "print what a strategy sends: blocks, slices, order", execute);
  add_scenario_options(command, arguments.scenario);
  command.add_option("-s,--strategy", arguments.strategy, values::strategy, "see `allreplay list strategies`")
      .required();
  Option& json = command.add_flag("--json", arguments.json, "print one JSON object, which `run --plan` replays");
  command
      .add_flag(
          "--pytorch", arguments.pytorch,
          "print Python code to paste: the buckets, and the hook that installs them; for buckets of whole parameters")
      .excludes(json);
  command.footer = "Example:\n  allreplay plan --profile googlenet_k80_b32 --cluster k80-10gbe --strategy mg-wfbp";
}

}  // namespace allreplay
