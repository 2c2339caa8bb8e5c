#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/text.hpp"
#include "sim/inputs/estimate/estimate.hpp"
#include "sim/output/picture/picture_file.hpp"
#include "sim/output/report/recommend_report.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/plans/pipeline/pipeline_plan.hpp"
#include "sim/plans/schedule/offer.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/programs/command/config_words.hpp"
#include "sim/programs/command/layouts.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/parallel_setup.hpp"
#include "sim/replay/training/sharding.hpp"
#include "sim/studies/experiment/memory_remedy.hpp"
#include "sim/studies/experiment/tuning.hpp"

namespace allreplay {

namespace {

std::vector<std::string> chosen_strategies(const RecommendArguments& arguments) {
  if (arguments.named()) return names_in(arguments.strategies, argument("--strategies"));
  std::vector<std::string> names;
  for (const std::string& framework : names_in(arguments.frameworks, argument("--framework")))
    for (const Strategy* strategy : find_framework(framework, argument("--framework")).strategies)
      names.emplace_back(strategy->name);
  if (!names.empty()) return names;
  return names_of_all_strategies();
}

struct RecommendTask {
  std::vector<std::vector<Scenario>> sizes;
  std::vector<std::vector<Request>> requests;  // the request of each scenario in `sizes`
  RecommendRequest request;
  std::vector<std::string> left_out;  // strategies incompatible with the other options
  OptionsOfSome options;
  std::vector<std::pair<std::string, InputError>> impossible;  // numbers of workers, with the reason
};

// True if `best` is also searched with --zero 3: memory is limited, and neither strategies nor --zero were given.
bool searches_stage_3(const RecommendArguments& arguments, const Scenario& best) {
  return !arguments.named() && best.options.memory.limit && !best.options.places.contains("zero") && !best.codec &&
         best.workers > 1;
}

// Adds the strategies for one number of workers. Throws InputError.
void add_size(RecommendTask& task, Library& library, const RecommendArguments& arguments, const std::string& count) {
  auto& [sizes, requests, request, left_out, options, impossible] = task;
  ScenarioArguments one = arguments.scenario;
  one.workers = count;
  std::vector<Scenario> scenarios;
  std::vector<Request> asked_for;
  for (const std::string& name : chosen_strategies(arguments)) {
    Request asked = one.request(name);
    asked.strategy.place = argument("--strategies");
    Scenario scenario = library.resolve(asked);
    refuse_pipelines(scenario, "recommend of a profile", "recommend --model NAME, or compare, which takes lists");
    options.drop_others(library, asked, scenario);
    if (!arguments.named() && !is_compatible(scenario)) {  // incompatible with other options
      if (std::find(left_out.begin(), left_out.end(), name) == left_out.end()) left_out.push_back(name);
      continue;
    }
    scenarios.push_back(std::move(scenario));
    asked_for.push_back(asked);
    if (name != "best" || !searches_stage_3(arguments, scenarios.back())) continue;
    set_option(asked, "zero", "3");
    Scenario sharded = library.resolve(asked);
    if (!is_compatible(sharded)) continue;
    scenarios.push_back(std::move(sharded));
    asked_for.push_back(std::move(asked));
  }
  if (scenarios.empty()) require_sharding(library.resolve(one.request(chosen_strategies(arguments).front())));
  sizes.push_back(std::move(scenarios));
  requests.push_back(std::move(asked_for));
}

// Resolves all scenarios before the first simulation. Impossible numbers of workers become warnings if others are left;
// other errors throw InputError.
RecommendTask task_of(const Inputs& inputs, const RecommendArguments& arguments) {
  RecommendTask task;
  RecommendRequest& request = task.request;
  request.budget = arguments.budget.empty() ? 24 : parse_integer(arguments.budget, 1, 100'000, argument("--budget"));
  request.seed = parse_seed(arguments.seed);
  request.jobs = parse_jobs(arguments.jobs);
  request.rule = arguments.winning.rule();
  std::vector<std::string> counts;
  for (const std::string& some : split_list(inputs.files, {arguments.scenario.workers}, "--workers"))
    for (std::string& count : worker_counts(some)) counts.push_back(std::move(count));
  Library library(inputs);
  for (const std::string& count : counts) try {
      add_size(task, library, arguments, count);
    } catch (const InputError& error) {
      if (counts.size() == 1 || error.place().path != argument("--workers").path) throw;
      task.impossible.emplace_back(count, error);
    }
  if (task.sizes.empty()) throw InputError(task.impossible.front().second);
  task.options.require_taken();
  if (!arguments.plot.empty() && counts.size() > 1)
    throw InputError(argument("--plot"), "draws a single number of workers", "--workers N");
  require_separate(inputs.files, {picture_at("--plot", arguments.plot)}, arguments.scenario.files(inputs.files));
  return task;
}

// The request that `run` repeats a result with: that of its scenario, and the tuned options.
Request request_of(const RecommendTask& task, std::size_t size, const Scenario& tuned) {
  const auto& scenarios = task.sizes[size];
  const auto given = std::find_if(scenarios.begin(), scenarios.end(), [&](const Scenario& one) {
    return one.strategy == tuned.strategy && one.options.strategy.sharding.zero == tuned.options.strategy.sharding.zero;
  });
  Request request = task.requests[size][static_cast<std::size_t>(given - scenarios.begin())];
  for (const auto& [name, value] : changed_options(*given, tuned)) set_option(request, name, value);
  return request;
}

// Throws InputError, with a remedy, if no strategy fits into the memory at any number of workers.
void require_fitting(const Inputs& inputs, const std::vector<std::vector<Advice>>& sizes, const RecommendTask& task) {
  const Advice* smallest = &sizes.front().front();
  std::size_t at = 0;
  for (std::size_t size = 0; size < sizes.size(); ++size)
    for (const Advice& advice : sizes[size]) {
      if (fits(advice.tuned.scenario, advice.tuned.result)) return;
      if (advice.tuned.result.memory.peak < smallest->tuned.result.memory.peak) smallest = &advice, at = size;
    }
  const Scenario& scenario = smallest->tuned.scenario;
  Library library(inputs);
  auto remedy = memory_remedy(library, request_of(task, at, scenario));
  if (remedy)
    std::replace(remedy->flags.begin(), remedy->flags.end(), std::string("--strategy"), std::string("--strategies"));
  nothing_fits(scenario, smallest->tuned.result.memory.peak,
               fmt::format("{} on {} workers", scenario.strategy->name, scenario.workers),
               remedy ? fmt::format("; or {}, with which {} are enough", fmt::join(remedy->flags, " "),
                                    format_size(static_cast<Bytes>(remedy->bytes)))
                      : "");
}

double efficiency_line(const RecommendArguments& arguments) {
  const double line = parse_number(arguments.line, argument("--efficiency"));
  if (!(line > 0 && line <= 1))
    throw InputError(argument("--efficiency"), fmt::format("{} is not a valid efficiency", arguments.line),
                     "above 0, at most 1, such as 0.8");
  return line;
}

// Sets the flags with which `run` repeats each result.
void add_words(std::vector<std::vector<Advice>>& rankings, const RecommendTask& task) {
  for (std::size_t size = 0; size < rankings.size(); ++size)
    for (Advice& advice : rankings[size]) advice.run = run_flags(request_of(task, size, advice.tuned.scenario));
}

void recommend_and_print(Context& context, const RecommendArguments& arguments, Farm* farm) {
  const double line = efficiency_line(arguments);
  const Training training = arguments.training.training();
  RecommendTask task = task_of(context.inputs, arguments);
  task.request.watch = context.console.watch("recommend");
  constexpr std::size_t many = 64;
  if (task.sizes.size() > many)
    context.console.note(
        fmt::format("--workers gives {} sizes, each tuned by itself; LO:HI:x2 doubles", task.sizes.size()));
  require_countable(training, {&task.sizes.front().front(), 1});
  note_left_out(context.console, task.left_out);
  task.options.tell(context.console);
  for (const auto& [workers, why] : task.impossible)
    context.console.warn(left_out(fmt::format("{} workers", workers), why.what(), true));
  std::vector<RuledOut> ruled_out;
  std::vector<std::vector<Advice>> sizes = recommend(task.sizes, task.request, ruled_out, farm);
  add_words(sizes, task);
  for (const RuledOut& one : ruled_out) context.console.warn(left_out(one.strategy, one.why));
  context.console.warn(sizes.front().front().tuned.result.warning);
  require_fitting(context.inputs, sizes, task);
  if (!arguments.plot.empty()) write_picture(context.files(), arguments.plot, memory_picture(sizes.front()));
  if (arguments.json)
    context.console.print_json(recommend_json(sizes, task.request.rule, training));
  else if (sizes.size() == 1)
    context.console.show(recommend_view(), recommend_document(sizes.front(), task.request.rule, training));
  else
    context.console.show(scaling_view(), scaling_document(sizes, line, task.request.rule, training));
}

// `recommend --model`: searches layouts of a transformer instead of tuning strategies for a profile.
void execute_of_model(Context& context, const RecommendArguments& arguments) {
  if (!arguments.engine.empty()) throw InputError(argument("--engine"), "cannot be combined with --model", "--jobs");
  std::vector<std::string> strategies;
  if (!arguments.frameworks.empty() || !arguments.strategies.empty()) strategies = chosen_strategies(arguments);
  if (!arguments.named())
    std::erase_if(strategies, [](const std::string& name) { return !plans_pipelines(find_strategy(name, {})); });
  if (strategies.empty() && !arguments.frameworks.empty())
    throw InputError(argument("--framework"), "none of these has a strategy for pipelines, which --model searches",
                     "megatron or pytorch");
  recommend_layouts(context, arguments, strategies);
}

void execute(Context& context, const RecommendArguments& arguments) {
  if (!arguments.scenario.model.empty()) return execute_of_model(context, arguments);
  for (const auto& [text, flag] :
       {std::pair(&arguments.mfu, "--mfu"), {&arguments.tokens_per_second, "--tokens-per-second"}})
    if (!text->empty())
      throw InputError(argument(flag), "needs --model",
                       "--model NAME; or the profile that `allreplay estimate` writes with it");
  const auto prepare = [&] {
    RecommendTask task = task_of(context.inputs, arguments);
    return answer_advice(std::move(task.sizes), task.request);
  };
  on_engine(context.console, arguments.engine, prepare,
            [&](Farm* farm) { recommend_and_print(context, arguments, farm); });
}

}  // namespace

void add_recommend(CommandLine& app) {
  auto [command, arguments] = app.add<RecommendArguments>(
      "recommend", "tune and rank the strategies: what to run, with which settings", execute);
  Option& profile = add_scenario_options(command, arguments.scenario);
  profile.unless(command.add_option("--model", arguments.scenario.model, values::model,
                                    "instead of --profile: a transformer; its degrees, schedules, micro-batches and "
                                    "recomputation are searched, on estimated profiles"));
  add_config_option(command, arguments.scenario.configs);
  command.get_option("--recompute").takes(one_of("RULE", [] { return names_of(recompute_rules); }));
  command.add_option("--device", arguments.scenario.device, values::device, "with --model: a device, or a file of one");
  command.add_option("--seq", arguments.scenario.tokens, values::number,
                     "with --model: tokens of a sample (the model's positions)");
  command.add_option("--mfu", arguments.mfu, values::ratio,
                     "with --model: measured model FLOPs over the peak of the passes of a GPU, such as 45%");
  command.add_option("--tokens-per-second", arguments.tokens_per_second, values::number,
                     "with --model: measured tokens/s of the passes of a GPU (at --batch, or SPEED@BATCH)");
  add_winning_options(command, arguments.winning);
  add_doubt_option(command, arguments.winning);
  add_training_options(command, arguments.training);
  Option& names =
      command.add_option("-s,--strategies", arguments.strategies, values::strategies, "a,b,c, or all (all)");
  command
      .add_option("--framework", arguments.frameworks,
                  {.name = "FRAMEWORK,...", .words = [] { return names_of(frameworks_by_any_name()); }},
                  fmt::format("only strategies of these frameworks: {}; with --model those that support pipelines",
                              fmt::join(names_of(frameworks_by_any_name()), ", ")))
      .excludes(names);
  command.add_option("--efficiency", arguments.line, values::ratio,
                     "with --workers lo:hi:x2: the lowest acceptable scaling efficiency");
  command.add_option("--budget", arguments.budget, values::number,
                     "trials per strategy (24); with --model, in total (200)");
  command.add_option("--seed", arguments.seed, values::number, "seed of the tuning's random choices");
  add_jobs_option(command, arguments.jobs, "trials");
  add_engine(command, arguments.engine);
  command.add_flag("--json", arguments.json, "print a JSON array, best first");
  command.add_option("--plot", arguments.plot, values::file,
                     "draw iteration time against memory, with the Pareto front: FILE.svg, .png or "
                     ".pdf");
  command.footer =
      "Examples:\n  allreplay recommend --profile resnet50_k80_b16 --cluster k80-10gbe\n"
      "  allreplay recommend --profile resnet50_k80_b16 --cluster k80-10gbe --workers 8:1024:x2 --efficiency 0.9\n"
      "  allreplay recommend --model llama3-70b --device h100 --cluster h100x8-8x400gbps --workers 1024 "
      "--global-batch 1024";
}

}  // namespace allreplay
