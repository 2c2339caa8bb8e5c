#include <fmt/format.h>

#include "sim/output/picture/picture_file.hpp"
#include "sim/output/report/what_if_report.hpp"
#include "sim/output/view/what_if_picture.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/programs/command/config_words.hpp"
#include "sim/studies/experiment/what_if.hpp"

namespace allreplay {

namespace {

struct WhatIfArguments {
  ScenarioArguments scenario;
  std::string strategy, budget = "6", seed = "1", jobs = "2", plot, engine;
  bool json = false;
};

WhatIfRequest request_of(const WhatIfArguments& arguments) {
  WhatIfRequest how;
  how.budget = parse_integer(arguments.budget, 1, 100'000, argument("--budget"));
  how.seed = parse_seed(arguments.seed);
  how.jobs = parse_jobs(arguments.jobs);
  return how;
}

void ask_and_print(Context& context, const WhatIfArguments& arguments, Farm* farm) {
  const WhatIfRequest how = request_of(arguments);
  if (!arguments.plot.empty()) require_picture(arguments.plot, argument("--plot"));
  require_separate(context.files(), {{"--plot", arguments.plot}}, arguments.scenario.files(context.files()));
  Library library(context.inputs);
  const WhatIf answer = what_if(library, arguments.scenario.request(arguments.strategy), how, farm);
  if (!arguments.plot.empty()) write_picture(context.files(), arguments.plot, draw(what_if_chart(answer)));
  context.console.warn(answer.base.outcome.result.warning);
  if (arguments.json) return context.console.print_json(what_if_json(answer));
  context.console.show(what_if_view(), what_if_document(answer));
}

void execute(Context& context, const WhatIfArguments& arguments) {
  require_mpi_or_none(arguments.engine);
  if (arguments.engine.empty()) return ask_and_print(context, arguments, nullptr);
  on_farm(
      context.console,
      [&] {
        WhatIfRequest how = request_of(arguments);
        how.jobs = 1;
        return answer_questions(context.inputs, how);
      },
      [&](Farm& farm) { ask_and_print(context, arguments, &farm); });
}

}  // namespace

void add_whatif(CommandLine& app) {
  auto arguments = std::make_shared<WhatIfArguments>();
  Command command = app.add_subcommand("whatif", "what to change: the gain of each change, alone and combined");
  add_model_options(command, add_scenario_options(command, arguments->scenario), arguments->scenario);
  add_config_option(command, arguments->scenario.configs);
  command.add_option("-s,--strategy", arguments->strategy, values::strategy,
                     "ddp, or fsdp2 if ddp does not fit into the memory");
  command.add_option("--budget", arguments->budget, values::number, "trials for each strategy of a framework")
      .capture_default_str();
  command.add_option("--seed", arguments->seed, values::number, "seed of the tuning's random choices")
      .capture_default_str();
  add_jobs_option(command, arguments->jobs, "changes");
  add_engine(command, arguments->engine);
  command.add_flag("--json", arguments->json, "print one JSON object");
  command.add_option("--plot", arguments->plot, values::file,
                     "draw the gains as a tornado chart: FILE.svg, .png or .pdf");
  command.footer(
      "With each row's flags, `allreplay run` prints the same result.\n"
      "Example:\n  allreplay whatif --profile resnet50_k80_b16 --cluster k80-10gbe --plot whatif.svg");
  command.callback([arguments](Context& context) { execute(context, *arguments); });
}

}  // namespace allreplay
