#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/output/report/judge_report.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/programs/command/config_words.hpp"

namespace allreplay {

namespace {

struct JudgeArguments {
  ScenarioArguments scenario;
  std::string file, strategy, plan, format, time, operation, jobs = "2";
  std::string iteration, tokens, samples, mfu;
  bool json = false;
};

constexpr const char* numbers = "--iteration, --tokens-per-second, --samples-per-second or --mfu";

double measured_share(const std::string& text) {
  const bool percent = text.ends_with('%');
  const double share = positive_number(percent ? text.substr(0, text.size() - 1) : text, "--mfu") / (percent ? 100 : 1);
  if (share > 1) throw InputError(argument("--mfu"), fmt::format("{} is above 100 %", text), "such as 0.45 or 45%");
  return share;
}

// The numbers that were given, with the option of each.
std::vector<MeasuredNumber> measured_numbers(const JudgeArguments& arguments) {
  std::vector<MeasuredNumber> given;
  if (!arguments.iteration.empty()) {
    const SourceLocation place = argument("--iteration");
    const bool plain = arguments.iteration.find_first_not_of("0123456789.eE+-") == std::string::npos;
    const double seconds =
        plain ? positive_number(arguments.iteration, "--iteration") : parse_duration(arguments.iteration, place);
    if (!(seconds > 0)) throw InputError(place, "is not above 0", "seconds, or a time such as 850 ms");
    given.push_back({MeasuredKind::Iteration, seconds, place});
  }
  if (!arguments.tokens.empty())
    given.push_back({MeasuredKind::Tokens, positive_number(arguments.tokens, "--tokens-per-second"),
                     argument("--tokens-per-second")});
  if (!arguments.samples.empty())
    given.push_back({MeasuredKind::Samples, positive_number(arguments.samples, "--samples-per-second"),
                     argument("--samples-per-second")});
  if (!arguments.mfu.empty()) given.push_back({MeasuredKind::Mfu, measured_share(arguments.mfu), argument("--mfu")});
  return given;
}

void judge_log(Context& context, const JudgeArguments& arguments) {
  if (const auto given = measured_numbers(arguments); !given.empty())
    throw InputError(given.front().place, "cannot be combined with a log", "one of them");
  for (const auto& [text, flag] : {std::pair(&arguments.strategy, "--strategy"),
                                   {&arguments.plan, "--plan"},
                                   {&arguments.scenario.profile, "--profile"},
                                   {&arguments.scenario.model, "--model"}})
    if (!text->empty()) throw InputError(argument(flag), "does not change the time of a collective", "leave it out");
  const Request request = arguments.scenario.request("");
  LogRequest wanted{.format = {arguments.format, argument("--format")},
                    .time = {arguments.time, argument("--time")},
                    .workers = {request.workers.value.value_or(0), argument("--workers")}};
  if (!arguments.operation.empty()) wanted.operation = {parse_operation(arguments.operation), argument("--operation")};
  const std::string text = context.files().read(arguments.file);
  Library library(context.inputs);
  MeasurementLog log = read_measurements(text, arguments.file, wanted);
  const std::optional<CollectiveOp>& operation = wanted.operation;
  if (!log.operation) log.operation = operation;
  if (operation && log.operation != operation)
    throw InputError(wanted.operation.place,
                     fmt::format("is {}, but the log is of {} ({})", to_string(*operation), to_string(*log.operation),
                                 log.benchmark),
                     "leave it out");
  const LogJudgement judgement = judge(library, request, std::move(log));
  for (const std::string& warning : judgement.log.notes) context.console.warn(warning);
  context.console.show(log_judgement_view(), log_judgement_json(judgement), arguments.json);
}

void judge_number(Context& context, const JudgeArguments& arguments) {
  const std::vector<MeasuredNumber> given = measured_numbers(arguments);
  if (given.empty())
    throw InputError(argument("--tokens-per-second"), "is required: nothing to judge",
                     fmt::format("the measured {}, or a log", numbers));
  if (given.size() > 1)
    throw InputError(given[1].place, fmt::format("cannot be combined with {}", given[0].place.path), "one of them");
  for (const auto& [text, flag] :
       {std::pair(&arguments.format, "--format"), {&arguments.time, "--time"}, {&arguments.operation, "--operation"}})
    if (!text->empty()) throw InputError(argument(flag), "is of a log, and none is given", "leave it out");
  require_strategy_or_plan(arguments.strategy, arguments.plan);
  Library library(context.inputs);
  const Judgement judgement = judge(library, arguments.scenario.request(arguments.strategy, arguments.plan),
                                    given.front(), parse_jobs(arguments.jobs));
  context.console.warn(judgement.expected.result.warning);
  warn_of_idle_options(context.console, arguments.scenario, {&judgement.expected, 1});
  context.console.show(judgement_view(), judgement_json(judgement), arguments.json);
}

void execute(Context& context, const JudgeArguments& arguments) {
  arguments.file.empty() ? judge_number(context, arguments) : judge_log(context, arguments);
}

}  // namespace

void add_judge(CommandLine& app) {
  auto [command, arguments] = app.add<JudgeArguments>(
      "judge", "is a measured speed as expected? If not, what would explain it, and what to measure", execute);
  Option& log = command.add_option("file", arguments.file, values::file,
                                   "a log of nccl-tests or OSU micro-benchmarks, or a CSV, instead of a number");
  Option& profile = add_scenario_options(command, arguments.scenario);
  profile.unless(log);
  add_model_options(command, profile, arguments.scenario);
  add_config_option(command, arguments.scenario.configs);
  add_strategy_or_plan(command, arguments.strategy, arguments.plan);
  command.add_option("--tokens-per-second", arguments.tokens, values::number, "measured tokens/s of one GPU")
      .group("The measured number");
  command.add_option("--samples-per-second", arguments.samples, values::number, "the same, in samples")
      .group("The measured number");
  command.add_option("--mfu", arguments.mfu, values::ratio, "measured model FLOPs over the peak, such as 45%")
      .group("The measured number");
  command.add_option("--iteration", arguments.iteration, {"TIME"}, "measured time of an iteration: seconds, or 850 ms")
      .group("The measured number");
  command.add_option("--format", arguments.format, one_of("FORMAT", [] { return names_of(log_formats()); }),
                     "of the log (recognised by its content)");
  command.add_option("--time", arguments.time, {"NAME"},
                     "which time of the log: out-of-place or in-place; avg, min or max; a CSV column");
  command.add_option("--operation", arguments.operation,
                     one_of("OPERATION", [] { return names_of(operations_with(&OperationRow::usual)); }),
                     "of the log, if it does not name its benchmark");
  add_jobs_option(command, arguments.jobs, "causes");
  command.add_flag("--json", arguments.json, "print one JSON object");
  command.footer =
      "docs/judging.md explains the verdict and the causes.\n"
      "Examples:\n"
      "  allreplay judge --tokens-per-second 5100 --model llama3-8b --device h100 --batch 1 --cluster h100x8-8x400gbps "
      "--workers 64 --strategy fsdp2\n"
      "  allreplay judge nccl.log --cluster h100x8-8x400gbps";
}

}  // namespace allreplay
