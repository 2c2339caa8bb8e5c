#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/output/report/tuning_report.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/parallel_setup.hpp"

namespace allreplay {

namespace {

constexpr Word<TuneMethod> tune_methods[] = {{TuneMethod::Bayes, "bayes"}, {TuneMethod::Grid, "grid"}};

struct TuneArguments {
  ScenarioArguments scenario;
  std::string strategy, budget = "32", method = "bayes", seed = "1", jobs = "2", out, engine;
  std::vector<std::string> over;
  bool json = false, csv = false;
};

std::vector<std::string> tunable_strategies() {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies())
    if (!tunable_options(strategy).empty()) names.emplace_back(strategy.name);
  return names;
}

struct TuneTask {
  Scenario scenario;
  TuneRequest request;
};

TuneTask task_of(const Inputs& inputs, const TuneArguments& arguments) {
  require_separate(inputs.files, {{"--out", arguments.out, false, "iteration_s,best_so_far_s"}},
                   arguments.scenario.files(inputs.files));
  Library library(inputs);
  TuneTask task{library.resolve(arguments.scenario.request(arguments.strategy)), {}};
  refuse_pipelines(task.scenario, "tune", "compare and sweep, which take lists; or recommend --model");
  auto& [scenario, request] = task;
  request.budget = parse_integer(arguments.budget, 1, 100'000, argument("--budget"));
  request.seed = parse_seed(arguments.seed);
  request.method = choose_by_name(tune_methods, arguments.method, argument("--method"), "'{}' is not a method").value;
  for (const std::string& range : arguments.over) {
    request.ranges.push_back(parse_range(range, *scenario.strategy, argument("--over")));
    for (std::size_t i = 0; i + 1 < request.ranges.size(); ++i)
      if (request.ranges[i].option == request.ranges.back().option)
        throw InputError(argument("--over"), fmt::format("{} is given twice", request.ranges[i].option),
                         "one range per option");
  }
  if (request.ranges.empty()) request.ranges = default_ranges(scenario);
  const auto tunable = tunable_options(*scenario.strategy);
  if (request.ranges.empty() && !tunable.empty())
    throw InputError(scenario.options.place_of(std::string(tunable.front()->name)),
                     fmt::format("all options of {} are given: nothing is left to tune", scenario.strategy->name),
                     "--over KEY=LO:HI, which varies a given option, too");
  if (request.ranges.empty())
    throw InputError(argument("--strategy"), fmt::format("{} has no options to tune", scenario.strategy->name),
                     choices(tunable_strategies()));
  return task;
}

void tune_and_print(Context& context, const TuneArguments& arguments, Farm* farm) {
  const auto [scenario, request] = task_of(context.inputs, arguments);
  const Tuning tuning = run_tuning(scenario, request, parse_jobs(arguments.jobs), farm,
                                   context.console.watch("tune")(static_cast<std::size_t>(request.budget)));
  if (const Outcome& least = tuning.tuned; !fits(least.scenario, least.result))
    nothing_fits(least.scenario, least.result.memory.peak, "the smallest that was tried");
  if (!arguments.out.empty()) context.files().write(arguments.out, tuning_csv(tuning));
  context.console.warn(tuning.given.result.warning);
  if (arguments.csv) return context.console.print("{}", tuning_csv(tuning));
  if (arguments.json) return context.console.print_json(tuning_json(tuning));
  context.console.show(tuning_view(), tuning_document(tuning));
}

void execute(Context& context, const TuneArguments& arguments) {
  const auto prepare = [&] {
    TuneTask task = task_of(context.inputs, arguments);
    return answer_trials(std::move(task.scenario), std::move(task.request.ranges));
  };
  on_engine(context.console, arguments.engine, prepare, [&](Farm* farm) { tune_and_print(context, arguments, farm); });
}

}  // namespace

void add_tune(CommandLine& app) {
  auto [command, arguments] =
      app.add<TuneArguments>("tune", "find the options of a strategy with the shortest iteration time", execute);
  add_scenario_options(command, arguments.scenario);
  command.add_option("-s,--strategy", arguments.strategy, values::strategy, "see `allreplay list strategies`")
      .required();
  command.add_option("--over", arguments.over, {"KEY=LO:HI", "options"},
                     "key=lo:hi, such as partition=256KiB:16MiB, or key=a,b, such as reshard=all,none; once for each "
                     "option (all that can be tuned and are not given)");
  command.add_option("--budget", arguments.budget, values::number, "largest number of trials");
  command.add_option("--method", arguments.method, one_of("METHOD", [] { return names_of(tune_methods); }),
                     "bayes (Gaussian process, expected improvement) or grid");
  command.add_option("--seed", arguments.seed, values::number, "seed of the random choices of bayes");
  add_jobs_option(command, arguments.jobs, "trials");
  add_engine(command, arguments.engine);
  command.add_option("--out", arguments.out, values::file, "write the trials to this CSV file");
  Option& json = command.add_flag("--json", arguments.json, "print one JSON object");
  command.add_flag("--csv", arguments.csv, "print the trials as CSV").excludes(json);
  command.footer =
      "Examples:\n  allreplay tune --profile resnet50_k80_b16 --cluster k80-10gbe --strategy bytescheduler --over "
      "partition=256KiB:32MiB --over credit=1:16\n"
      "  allreplay tune --profile resnet50_k80_b16 --cluster k80-10gbe --strategy ddp --out trials.csv\n"
      "  allreplay plot trials.csv --kind lines --set x=trial --out trials.svg";
}

}  // namespace allreplay
