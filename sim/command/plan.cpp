#include <fmt/format.h>

#include "sim/command/command.hpp"
#include "sim/interchange/plan_file.hpp"
#include "sim/report/plan_report.hpp"
#include "sim/search/plan_of.hpp"

namespace allreplay {

namespace {

struct PlanArguments {
  ScenarioArguments scenario;
  std::string strategy;
  bool json = false;
};

void execute(const PlanArguments& arguments) {
  Library library;
  const Scenario scenario = library.resolve(arguments.scenario.request(arguments.strategy));
  const Plan plan = plan_of(scenario);
  print("{}", arguments.json ? write_plan(plan, scenario.profile) + "\n" : plan_report(scenario, plan, screen()));
}

}  // namespace

void add_plan(CommandLine& app) {
  auto arguments = std::make_shared<PlanArguments>();
  Command command = app.add_subcommand("plan", "print what a strategy would send: blocks, slices, order");
  add_scenario_options(command, arguments->scenario);
  command.add_option("-s,--strategy", arguments->strategy, "see `allreplay list strategies`").required();
  command.add_flag("--json", arguments->json, "print one JSON object");
  command.footer("Example:\n  allreplay plan --profile googlenet_k80_b32 --cluster k80-10gbe --strategy mg-wfbp");
  command.callback([arguments] { execute(*arguments); });
}

}  // namespace allreplay
