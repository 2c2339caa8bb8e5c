#include "sim/programs/command/layouts.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/output/picture/picture_file.hpp"
#include "sim/output/report/layouts_report.hpp"
#include "sim/output/report/phrases.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/plans/pipeline/pipeline_plan.hpp"
#include "sim/programs/command/estimate_arguments.hpp"
#include "sim/programs/command/program.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/parallel_setup.hpp"
#include "sim/studies/experiment/estimated_profile.hpp"
#include "sim/studies/experiment/layouts.hpp"
#include "sim/studies/experiment/progress.hpp"

namespace allreplay {

namespace {

// The value that a flag fixes; none if the search may choose it.
std::optional<std::int64_t> chosen(const ScenarioArguments& scenario, const std::string& flag,
                                   std::int64_t most = most_workers) {
  const std::string given = scenario.flag(flag);
  return given.empty() ? std::nullopt : std::optional(parse_integer(given, 1, most, argument(flag)));
}

std::string change(const ScenarioArguments& scenario, const std::string& name) {
  const auto given = scenario.changes.find(name);
  return given == scenario.changes.end() || given->second.empty() ? "" : given->second.back();
}

Transformer transformer_named(const Files& files, const std::string& name) {
  const std::string file = file_of_model(files, name, argument("--model"));
  const auto model = read_named_model(files, file);
  if (const auto* transformer = std::get_if<Transformer>(&model)) return *transformer;
  throw InputError(argument("--model"), fmt::format("{} has no blocks to divide among workers", name),
                   "a transformer of `allreplay list models`, or a config.json");
}

// The request of all layouts: the options given, without those that restrict which layouts are searched.
Request base_of(ScenarioArguments scenario) {
  for (const char* flag : {"--pp", "--tp", "--cp", "--ep", "--schedule", "--chunks", "--global-batch"})
    scenario.flags.erase(flag);
  for (const char* name : {"batch", "precision", "recompute"}) scenario.changes.erase(name);
  scenario.model = scenario.device = scenario.tokens = "";
  return scenario.request("");
}

LayoutSearch search_of(const Files& files, const RecommendArguments& arguments,
                       const std::vector<std::string>& strategies) {
  const ScenarioArguments& scenario = arguments.scenario;
  if (!scenario.profile.empty())
    throw InputError(argument("--profile"), "cannot be combined with --model",
                     "one of them: with --model profiles are estimated");
  if (scenario.device.empty())
    throw InputError(argument("--device"), "is required with --model", "a name from `allreplay list devices`");
  constexpr const char* same_samples = "--global-batch, which gives all layouts the same number of samples";
  for (const auto& [flag, instead] : {std::pair("--accumulate", same_samples),
                                      {"--micro-batches", same_samples},
                                      {"--stages", "leave it out: blocks are split as frameworks split them"}})
    if (!scenario.flag(flag).empty()) throw InputError(argument(flag), "cannot be combined with --model", instead);
  LayoutSearch search;
  search.model = transformer_named(files, scenario.model);
  search.model_name = scenario.model;
  search.tokens = scenario.tokens.empty() ? search.model.tokens()
                                          : parse_integer(scenario.tokens, 1, most_tokens, argument("--seq"));
  search.device = read_device(files, scenario.device);
  search.device_name = scenario.device;
  const std::string precision = change(scenario, "precision");
  search.precision = precision.empty() ? precisions_of(search.device).front() : precision;
  search.base = base_of(scenario);
  search.pp = chosen(scenario, "--pp");
  search.tp = chosen(scenario, "--tp");
  search.cp = chosen(scenario, "--cp");
  search.ep = chosen(scenario, "--ep");
  search.chunks = chosen(scenario, "--chunks", 1000);
  if (const std::string batch = change(scenario, "batch"); !batch.empty())
    search.samples = parse_integer(batch, 1, 1'000'000, argument("--batch"));
  search.schedule = scenario.flag("--schedule");
  constexpr std::string_view known[] = {"1f1b", "interleaved", "zb-h1", "zbv"};
  if (!search.schedule.empty() && std::find(std::begin(known), std::end(known), search.schedule) == std::end(known))
    throw InputError(argument("--schedule"), fmt::format("'{}' is not among the schedules searched", search.schedule),
                     "1f1b, interleaved, zb-h1 or zbv");
  if (const std::string recompute = change(scenario, "recompute"); !recompute.empty())
    search.recompute = choose_by_name(recompute_rules, recompute, argument("--recompute"), "unknown '{}'").value;
  if (!strategies.empty()) search.strategies = strategies;
  for (const std::string& one : search.strategies)
    if (!plans_pipelines(find_strategy(one, argument("--strategies"))))
      throw InputError(argument("--strategies"), fmt::format("{} does not support pp above 1", one),
                       "megatron, fsdp2, or a strategy of blocks, such as ddp");
  search.budget = static_cast<std::size_t>(
      arguments.budget.empty() ? 200 : parse_integer(arguments.budget, 1, 100'000, argument("--budget")));
  search.jobs = parse_jobs(arguments.jobs);
  return search;
}

// The efficiency at which the passes of the whole model on one GPU have the known speed. Notes a speed whose unit may
// be wrong.
std::optional<Efficiency> efficiency_of(Console& console, Library& library, const RecommendArguments& arguments,
                                        const LayoutSearch& search) {
  if (arguments.mfu.empty() && arguments.tokens_per_second.empty()) return std::nullopt;
  EstimateRequest request{.work = build(search.model, search.tokens, argument("--seq"), {}),
                          .device = search.device,
                          .precision = search.precision,
                          .batch = search.samples.value_or(1),
                          .recompute = search.recompute.value_or(Recompute::None)};
  EstimateArguments speed;
  speed.texts = {{"--mfu", arguments.mfu}, {"--tokens-per-second", arguments.tokens_per_second}};
  const std::vector<KnownSpeed> known = known_speeds(speed, request);
  if (known.size() > 1)
    throw InputError(known.front().place, "has several speeds, which determine the host's time",
                     "one speed; or the option host_block, and one speed");
  request.batch = known.front().batch;
  Estimate made = estimate(request);
  made.profile.update = Time(0);  // the layouts share it
  made.profile.name = made.profile.model;
  const double factor =
      at_speed(library.resolve(alone_on_a_gpu(), std::move(made.profile)), known.front(), made.starts).factor;
  const auto part = [factor](double usual) { return std::round(1e6 * usual / factor) / 1e6; };  // short when printed
  const Efficiency found{part(made.efficiency.products), part(made.efficiency.attention)};
  if (found.products > 1 || found.attention > 1)
    throw InputError(
        known.front().place,
        fmt::format("{} is faster than the roofline of {} allows", known.front().text(), search.device.name),
        "a lower speed");
  if (const std::string note = note_on_unit(known.front(), made.efficiency.products / factor, factor); !note.empty())
    console.note_on_success(note);
  return found;
}

// Replays the user's own layout, which --config describes, as `run` does. Returns none without one; or if it cannot be
// compared with others, which a warning says.
std::optional<LayoutTrial> own_layout(Context& context, const LayoutSearch& search) {
  if (!context.own) return std::nullopt;
  const auto& [words, shown] = *context.own;
  const auto leave_out = [&](const std::string& why) {
    context.console.warn_on_success(left_out("your own layout", why));
    return std::nullopt;
  };
  if (search.efficiency) return leave_out("`run` does not take a measured speed");
  Context quiet{context.inputs, Console(true)};
  try {
    run_words(words, quiet);
  } catch (const InputError& error) {
    return leave_out(error.what());
  }
  LayoutTrial own{.outcome = std::move(quiet.console.outcomes.front()), .run = {shown.begin() + 1, shown.end()}};
  own.outcome.result.episodes.clear();
  own.outcome.result.unrolled = {};
  own.layout = layout_of(own.outcome);
  const Scenario& scenario = own.outcome.scenario;
  const std::int64_t samples = degrees_of(scenario).dp * own.layout.micro_batches * own.layout.samples;
  if (scenario.workers != search.workers)
    return leave_out(fmt::format("it is for {} workers, not {}", scenario.workers, search.workers));
  if (samples != search.global_batch)
    return leave_out(fmt::format("its iterations have {} samples, not {} (--global-batch {})", samples,
                                 search.global_batch, samples));
  return own;
}

// Throws NothingFits, with the smallest simulated layout and a change that would make one fit.
[[noreturn]] void refuse_unfit(Library& library, const LayoutSearch& search, const LayoutAdvice& advice) {
  const LayoutTrial& smallest =
      *std::min_element(advice.ranking.begin(), advice.ranking.end(), [](const LayoutTrial& a, const LayoutTrial& b) {
        return a.outcome.result.memory.peak < b.outcome.result.memory.peak;
      });
  const Scenario& scenario = smallest.outcome.scenario;
  const std::string least = format_size(static_cast<Bytes>(smallest.outcome.result.memory.peak));
  const std::optional<LayoutRemedy> remedy = remedy_of(library, search);
  const std::string instead =
      !remedy ? ""
      : remedy->workers > 0
          ? fmt::format("{} workers, with which {} fits; or ", remedy->workers, layout_words(remedy->layout))
          : fmt::format("no {}: {} fits; or ", listed(remedy->without, remedy->without.size()),
                        layout_words(remedy->layout));
  throw NothingFits(
      scenario.options.places.contains("memory") ? scenario.options.place_of("memory") : argument("--device"),
      fmt::format("none of {}{} fits into {}: the smallest, {}, needs {}",
                  advice.left_over > 0 ? fmt::format("the {} simulated of ", advice.ranking.size()) : "",
                  counted(std::ssize(advice.ranking) + static_cast<std::int64_t>(advice.left_over), "layout"),
                  limit_text(scenario), layout_words(smallest.layout), least),
      fmt::format("{}{} a worker", instead, least));
}

}  // namespace

void recommend_layouts(Context& context, const RecommendArguments& arguments,
                       const std::vector<std::string>& strategies) {
  const ScenarioArguments& scenario = arguments.scenario;
  const Training training = arguments.training.training();
  LayoutSearch search = search_of(context.files(), arguments, strategies);
  search.rule = arguments.winning.rule();
  search.in_parts = arguments.json ? search.budget : layouts_shown;
  require_separate(context.files(), {picture_at("--plot", arguments.plot)}, scenario.files(context.files()));
  Library library(context.inputs);
  search.workers = library.resolve_network(search.base).workers;
  search.efficiency = efficiency_of(context.console, library, arguments, search);
  const auto samples = chosen(scenario, "--global-batch", 1'000'000'000);
  search.global_batch = samples.value_or(search.workers);
  std::optional<Progress> progress;
  search.begin = [&](std::size_t trials) {
    if (!context.console.output_is_captured()) progress.emplace("recommend", trials);
  };
  search.advance = [&] {
    if (progress) progress->advance();
  };
  search.own = own_layout(context, search);
  LayoutAdvice advice = search_layouts(library, search);
  progress.reset();
  const LayoutTrial& first = advice.ranking.front();
  if (!fits(first.outcome.scenario, first.outcome.result)) refuse_unfit(library, search, advice);
  if (!samples)
    context.console.note_on_success(
        fmt::format("{} samples per iteration, one per worker (--global-batch sets another number)", search.workers));
  if (!arguments.plot.empty()) write_picture(context.files(), arguments.plot, memory_picture(advice, search));
  if (arguments.json)
    for (const std::string& one : advice.skipped) context.console.note("skipped " + one);
  if (arguments.json) return context.console.print_json(layouts_json(advice, search.rule, training));
  replay_in_parts(advice, layouts_to_show(advice, search), search.jobs);
  context.console.show(layouts_view(), layouts_document(advice, search, training));
}

}  // namespace allreplay
