#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/output/picture/picture_file.hpp"
#include "sim/output/report/what_if_report.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/programs/command/config_words.hpp"
#include "sim/studies/experiment/target_search.hpp"
#include "sim/studies/experiment/what_if.hpp"

namespace allreplay {

namespace {

struct WhatIfArguments {
  ScenarioArguments scenario;
  std::string strategy, budget = "6", seed = "1", jobs = "2", plot, engine, target, vary, cost;
  bool json = false;
};

RecommendRequest request_of(const WhatIfArguments& arguments) {
  RecommendRequest how;
  how.budget = parse_integer(arguments.budget, 1, 100'000, argument("--budget"));
  how.seed = parse_seed(arguments.seed);
  how.jobs = parse_jobs(arguments.jobs);
  return how;
}

void ask_and_print(Context& context, const WhatIfArguments& arguments, Farm* farm) {
  RecommendRequest how = request_of(arguments);
  how.watch = context.console.watch("whatif");
  require_separate(context.files(), {picture_at("--plot", arguments.plot)}, arguments.scenario.files(context.files()));
  Library library(context.inputs);
  const WhatIf answer = what_if(library, arguments.scenario.request(arguments.strategy), how, farm);
  if (!arguments.plot.empty()) write_picture(context.files(), arguments.plot, what_if_picture(answer));
  context.console.warn(answer.base.outcome.result.warning);
  if (arguments.json) return context.console.print_json(what_if_json(answer));
  context.console.show(what_if_view(), what_if_document(answer));
}

// "8,16" or "8:64:+8" for whole numbers, "LO:HI" for others.
std::vector<std::string> varied_values(const Files& files, const VariedAxis& axis, const std::string& range) {
  std::vector<std::string> values;
  if (!axis.is_whole) {
    for (const std::string_view end : split(range, ":")) values.emplace_back(trim(end));
    return values;
  }
  for (const std::string& some : split_list(files, {range}, "--vary"))
    for (const std::string& one : worker_counts(some, "--vary")) {
      parse_integer(one, 1, most_workers, argument("--vary"));
      values.push_back(one);
    }
  return values;
}

TargetSearch target_search_of(const Files& files, const WhatIfArguments& arguments) {
  TargetSearch search;
  search.target = parse_target(arguments.target, argument("--target"));
  search.jobs = parse_jobs(arguments.jobs);
  search.place = argument("--vary");
  if (!arguments.vary.empty()) {
    const std::size_t equals = std::min(arguments.vary.find('='), arguments.vary.size());
    const std::string name = arguments.vary.substr(0, equals);
    search.axis = &choose_by_name(varied_axes(), name == "bandwidth" ? "network.bandwidth" : name, search.place,
                                  "'{}' cannot be varied");
    if (equals < arguments.vary.size())
      search.values = varied_values(files, *search.axis, arguments.vary.substr(equals + 1));
  }
  if (!arguments.cost.empty()) search.prices = read_prices(files, arguments.cost);
  if (!search.axis && (!search.prices || search.prices->fabrics.empty()))
    throw InputError(argument("--target"), "has nothing to choose from",
                     R"(--vary AXIS, or --cost FILE with "fabrics", in addition)");
  return search;
}

void search_and_print(Context& context, const WhatIfArguments& arguments) {
  for (const auto& [text, option] : {std::pair(&arguments.plot, "--plot"), {&arguments.engine, "--engine"}})
    if (!text->empty()) throw InputError(argument(option), "cannot be combined with --target", "--json, --jobs");
  TargetSearch search = target_search_of(context.files(), arguments);
  search.watch = context.console.watch("whatif");
  Library library(context.inputs);
  const TargetAnswer answer = search_target(library, arguments.scenario.request(arguments.strategy), search);
  context.console.warn(answer.base.result.warning);
  if (arguments.json) return context.console.print_json(target_json(answer, search));
  context.console.show(target_view(), target_document(answer, search));
}

void execute(Context& context, const WhatIfArguments& arguments) {
  for (const auto& [text, option] : {std::pair(&arguments.vary, "--vary"), {&arguments.cost, "--cost"}})
    if (!text->empty() && arguments.target.empty())
      throw InputError(argument(option), "needs a target", "--target 'exposed<5%' in addition");
  if (!arguments.target.empty()) return search_and_print(context, arguments);
  const auto prepare = [&] {
    RecommendRequest how = request_of(arguments);
    how.jobs = 1;
    return answer_questions(context.inputs, how);
  };
  on_engine(context.console, arguments.engine, prepare, [&](Farm* farm) { ask_and_print(context, arguments, farm); });
}

}  // namespace

void add_whatif(CommandLine& app) {
  auto [command, arguments] =
      app.add<WhatIfArguments>("whatif", "what to change: the gain of each change, alone and combined", execute);
  add_model_options(command, add_scenario_options(command, arguments.scenario), arguments.scenario);
  add_config_option(command, arguments.scenario.configs);
  command.add_option("-s,--strategy", arguments.strategy, values::strategy,
                     "ddp, or fsdp2 if ddp does not fit into the memory");
  command.add_option("--budget", arguments.budget, values::number, "trials for each strategy of a framework");
  command.add_option("--seed", arguments.seed, values::number, "seed of the tuning's random choices");
  add_jobs_option(command, arguments.jobs, "changes");
  add_engine(command, arguments.engine);
  command.add_flag("--json", arguments.json, "print one JSON object");
  command.add_option("--plot", arguments.plot, values::file,
                     "draw the gains as a tornado chart: FILE.svg, .png or .pdf");
  constexpr const char* heading = "The least that is enough";
  command
      .add_option("--target", arguments.target,
                  {.name = "TARGET", .annotated = [] { return summaries(target_quantities()); }},
                  "instead of all changes, find what meets a target, such as 'exposed<5%':")
      .group(heading);
  command
      .add_option("--vary", arguments.vary, {.name = "AXIS", .annotated = [] { return summaries(varied_axes()); }},
                  "the least or most of AXIS that meets it; AXIS=RANGE gives the values:")
      .group(heading);
  command
      .add_option("--cost", arguments.cost, values::file,
                  "prices of ports, switches, hosts and GPUs; the cheapest of its fabrics that meets the target")
      .group(heading);
  command.footer =
      "With each row's flags, `allreplay run` prints the same result.\n"
      "Example:\n  allreplay whatif --profile resnet50_k80_b16 --cluster k80-10gbe --plot whatif.svg\n"
      "  allreplay whatif --profile resnet50_k80_b16 --cluster k80-10gbe --target 'exposed<5%' --vary "
      "network.bandwidth";
}

}  // namespace allreplay
