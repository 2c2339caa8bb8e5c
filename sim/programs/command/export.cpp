#include <cstdio>

#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/formats/interchange/exporters/exporter.hpp"
#include "sim/inputs/workload/profile_file.hpp"
#include "sim/output/report/notes.hpp"
#include "sim/output/report/profile_report.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/replay/training/collective_choice.hpp"
#include "sim/replay/training/parallel_setup.hpp"
#include "sim/studies/search/plan_of.hpp"

namespace allreplay {

namespace {

struct ExportArguments {
  ScenarioArguments scenario;
  std::string to, strategy, plan, out;

  bool planned() const { return !strategy.empty() || !plan.empty(); }
  bool per_worker = false;
};

// Rejects arguments that the format cannot use.
void require_meaning(const ExportArguments& arguments, const Exporter& exporter) {
  const auto refuse = [&](bool given, std::string_view option, std::string_view wrong, std::string_view right) {
    if (given) throw InputError(argument(std::string(option)), wrong, right);
  };
  const char* planned = arguments.plan.empty() ? "--strategy" : "--plan";
  if (arguments.planned()) require_strategy_or_plan(arguments.strategy, arguments.plan);
  refuse(arguments.planned() && !exporter.plans, planned,
         fmt::format("the format {} cannot hold a plan", exporter.name), "leave it out");
  refuse(arguments.planned() && !arguments.scenario.has_cluster(), planned, "needs a cluster to plan for",
         "add --cluster C");
  refuse(arguments.scenario.has_cluster() && !arguments.planned(),
         arguments.scenario.cluster.empty() ? "--nodes" : "--cluster", "has no effect without a strategy",
         "add --strategy S, or leave it out");
  for (const ChangeText& change : changes_of(arguments.scenario.changes))
    for (const ChangeRow& row : change_rows())
      refuse(change.name == row.name && row.changed != Changed::Profile && !arguments.planned(), "--" + change.name,
             "has no effect without a strategy", "add --strategy S and --cluster C, or leave it out");
  refuse(!arguments.scenario.codec.empty() && arguments.scenario.codec != "none", "--codec",
         "no format supports compressed gradients", "leave it out");
  refuse(arguments.per_worker && exporter.name != "chakra" && exporter.name != "chakra-json", "--per-worker",
         fmt::format("the format {} has one file for all workers", exporter.name), "leave it out");
  refuse(arguments.per_worker && arguments.scenario.workers.empty() && !arguments.scenario.has_cluster(),
         "--per-worker", "needs a number of workers", "add --workers N");
}

std::string groups_file(const ExportArguments& arguments) { return arguments.out + ".groups.json"; }

std::vector<std::string> files(const ExportArguments& arguments, const Exporter& exporter, std::int64_t workers) {
  if (!arguments.per_worker) return {arguments.out};
  constexpr std::int64_t most_files = 10'000;
  if (workers > most_files)
    throw InputError(argument("--per-worker"), fmt::format("would write {} files", workers),
                     fmt::format("at most {}", most_files));
  std::vector<std::string> files;
  for (std::int64_t worker = 0; worker < workers; ++worker)
    files.push_back(fmt::format("{}.{}{}", arguments.out, worker, exporter.extension));
  return files;
}

const View& export_view() {
  static const View view{{
      ViewText{"{file}: {layers} layers, forward {forward_s}, backward {backward_s}, {gradient_bytes} of gradients[ in "
               "{blocks} blocks of {strategy}]"},
      ViewNotes{},
  }};
  return view;
}

void execute(Context& context, const ExportArguments& arguments) {
  const Exporter& exporter = find_exporter(arguments.to, argument("--to"));
  require_meaning(arguments, exporter);
  const Request request = arguments.scenario.request(arguments.strategy, arguments.plan);
  Library library(context.inputs);
  Scenario scenario;
  std::optional<Plan> plan;
  if (!arguments.planned()) {
    scenario.profile = library.profile(request);
    scenario.workers = request.workers.value.value_or(1);
  } else {
    scenario = library.resolve(request);
    refuse_pipelines(scenario, "export", "plan --json, which run --plan replays");
    plan = plan_of(scenario, context.console.watch("plans"));
    if (scenario.profile->host.step > Time(0)) plan = with_host_step(std::move(*plan));
    scenario.profile = with_host_floors(*scenario.profile);
  }
  ExportRequest wanted{scenario.profile, plan ? &*plan : nullptr, scenario.workers};
  if (plan) wanted.collective = collective_named(scenario);
  const std::vector<std::string> written = files(arguments, exporter, scenario.workers);
  std::vector<Output> outputs;
  for (const std::string& file : written)
    outputs.push_back({arguments.per_worker ? "--per-worker" : "--out", file, false, exporter.mark});
  const bool groups = arguments.per_worker && plan && plan->sharding.has_groups();
  if (groups) outputs.push_back({"--per-worker", groups_file(arguments)});
  require_separate(context.files(), outputs, arguments.scenario.files(context.files(), {arguments.plan}));
  const Exported exported = exporter.write(wanted);
  for (const std::string& file : written) {
    context.files().write(file, groups && wanted.worker > 0 ? exporter.write(wanted).text : exported.text);
    ++wanted.worker;
  }
  if (groups) context.files().write(groups_file(arguments), exported.groups);
  for (const std::string& note : exported.notes) context.console.print_stderr("note: " + note);
  if (scenario.stragglers.any())
    context.console.print_stderr(
        "note: the cluster's stragglers, spread and jitter were left out: every worker is the profile's");
  if (groups)
    context.console.print_stderr(
        fmt::format("note: {} lists the members of each group, for ASTRA-sim's --comm-group-configuration",
                    groups_file(arguments)));
  else if (written.size() > 1)
    context.console.print_stderr(
        fmt::format("note: the {} files are identical: every worker does the same", written.size()));
  JsonValue document = profile_summary(scenario.profile);
  document["file"] = written.front();
  document["gradient_bytes"] = scenario.profile->bytes();
  if (plan) document["strategy"] = plan->strategy, document["blocks"] = plan->blocks.size();
  document["notes"] = note_on_origin(scenario.profile);
  context.console.show(export_view(), document);
}

}  // namespace

void add_export(CommandLine& app) {
  auto [command, arguments] =
      app.add<ExportArguments>("export", "convert a profile and its plan for another simulator", execute);
  command
      .add_option("--to", arguments.to, {.name = "FORMAT", .annotated = [] { return summaries(exporters()); }},
                  "the format:")
      .required();
  command.add_option("--out", arguments.out, values::file, "the file to write").required();
  command.add_option("-s,--strategy", arguments.strategy, values::strategy,
                     "also write this strategy's plan, made for --cluster; see `allreplay list strategies`");
  command.add_option("--plan", arguments.plan, values::file, "also write the plan in this file, made for --cluster");
  add_scenario_options(command, arguments.scenario);
  command.get_option("--cluster").required(false);
  command.add_flag("--per-worker", arguments.per_worker,
                   "chakra: a file for each worker, OUT.0.et, OUT.1.et, …, as ASTRA-sim 2.0 expects them; all are "
                   "identical, except with shard groups, which OUT.groups.json lists");
  command.footer =
      "What the format cannot hold is reported. `allreplay import` reads all of these formats.\n"
      "Examples:\n"
      "  allreplay export --to csv --profile resnet50_k80_b16 --out resnet50.csv\n"
      "  allreplay export --to chakra --profile resnet50_k80_b16 --cluster k80-10gbe --workers 8 --strategy mg-wfbp "
      "--per-worker --out resnet50";
}

}  // namespace allreplay
