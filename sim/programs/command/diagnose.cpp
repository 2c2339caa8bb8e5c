#include <filesystem>

#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/formats/interchange/gzip.hpp"
#include "sim/formats/interchange/importers/importer.hpp"
#include "sim/formats/interchange/timelines/readers.hpp"
#include "sim/inputs/workload/profile_writer.hpp"
#include "sim/output/html/pages.hpp"
#include "sim/output/picture/picture_file.hpp"
#include "sim/output/report/diagnosis_report.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/output/view/traces.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/replay/training/collective_pricing.hpp"
#include "sim/studies/diagnosis/fitted_job.hpp"
#include "sim/studies/experiment/progress.hpp"

namespace allreplay {

namespace {

struct DiagnoseArguments {
  std::vector<std::string> files;
  std::string steps, plot, timeline, html, profile_out, cluster_out, cluster;
  bool json = false;
};

Diagnosis diagnosis_of(Context& context, MeasuredJob job) {
  std::optional<Progress> progress;
  return diagnose(std::move(job), [&](std::size_t total) {
    if (!context.console.output_is_captured()) progress.emplace("diagnosing", total);
    return [&] {
      if (progress) progress->advance();
    };
  });
}

// Prices the gathers and reductions of a sharded job on a cluster, as those of as many workers from its first one on.
ExpectedTimes expected_times(Context& context, const MeasuredSteps& job, const std::string& cluster) {
  ExpectedTimes times;
  Library library(context.inputs);
  for (const auto& [unit, size] : job.unit_sizes) {
    if (size.bytes <= 0 || size.workers < 2 || unit.first == OpKind::UnitReplicate) continue;
    ScenarioArguments words;
    words.cluster = cluster;
    words.workers = std::to_string(size.workers);
    Scenario scenario = library.resolve_network(words.request(""));
    scenario.operation = is_gather(unit.first) ? CollectiveOp::AllGather : CollectiveOp::ReduceScatter;
    scenario.options.parallel = {};
    times[{unit.second, unit.first}] = price_collective(scenario, {size.bytes}).rows.front().time_s;
  }
  return times;
}

// The profile of the rank with the median compute time.
std::string median_profile(Context& context, const Diagnosis& known, const std::vector<std::string>& files) {
  const std::uint32_t median = median_replica(known);
  const std::string& file = files[median];
  std::string text;
  std::vector<std::string> notes;
  if (!known.job.sharded.empty()) {
    const UnitProfile units = profile_of_units(known, median, {file, ""});
    text = profile_json(units.profile, units.notes);
    notes = units.notes;
  } else {
    ByteSource source(context.files(), file);
    const Imported imported = import_profile(find_importer("kineto", argument("--profile-out")), source, {});
    text = profile_json(imported.profile, imported.notes);
  }
  const std::string_view which = files.size() % 2 == 1 ? "median" : "median (the faster of the middle two)";
  context.console.note_on_success(fmt::format("the profile is that of the {} rank, {}", which, file));
  for (const std::string& note : notes) context.console.note_on_success(note);
  return text;
}

// Rejects outputs that cannot be written, and two texts on one screen. Throws InputError.
void require_outputs(const Files& files, const DiagnoseArguments& arguments) {
  const bool prints_page = arguments.html == "-";
  if (prints_page && arguments.json)
    throw InputError(argument("--html"), "'-' prints the page, but --json prints another text",
                     "one of them, or a file");
  require_separate(files,
                   {picture_at("--plot", arguments.plot),
                    {"--timeline", arguments.timeline, true, mark_of_traces},
                    {"--html", prints_page ? "" : arguments.html, false, "content=\"allreplay diagnose\""},
                    {"--profile-out", arguments.profile_out, false, "\"origin\": \"imported\""},
                    {"--cluster-out", arguments.cluster_out, false, mark_of_clusters}},
                   arguments.files);
}

void execute(Context& context, const DiagnoseArguments& arguments) {
  require_outputs(context.files(), arguments);
  const bool prints_page = arguments.html == "-";
  const StepChoice steps(arguments.steps, argument("--steps"));
  MeasuredJob job = read_measured_job(context.files(), arguments.files, steps);
  for (const auto& [file, option] :
       {std::pair(arguments.profile_out, "--profile-out"), std::pair(arguments.cluster_out, "--cluster-out")})
    if (!file.empty() && !job.kineto)
      throw InputError(argument(option), "this timeline has no message sizes", "Kineto traces, which have them");
  const std::vector<std::string> files = job.files;
  const Diagnosis known = diagnosis_of(context, std::move(job));

  // All is made before anything is written.
  std::string profile, cluster;
  std::optional<FittedJob> fitted;
  if (!arguments.cluster_out.empty()) {
    try {
      fitted = fit_job(known);
      cluster = fitted_cluster(*fitted, known, std::filesystem::path(arguments.cluster_out).stem().string(),
                               argument("--cluster-out"));
    } catch (const InputError& error) {
      throw InputError(argument("--cluster-out"),
                       fmt::format("the collectives do not tell alpha and beta: {}", error.wrong()),
                       "collectives of several sizes; or leave it out: the rest does not need them");
    }
  }
  for (const auto& notes : {known.job.notes, steps.missed(known.job.steps)})
    for (const std::string& note : notes) context.console.note_on_success(note);
  if (!arguments.profile_out.empty()) profile = median_profile(context, known, files);
  ExpectedTimes expected;
  if (!arguments.cluster.empty()) {
    if (known.job.unit_sizes.empty())
      throw InputError(argument("--cluster"), "this job has no gathers or reductions of units with known sizes",
                       "Kineto traces of FSDP or ZeRO-3 on GPUs, by PyTorch 2.2 or later");
    expected = expected_times(context, known.job, arguments.cluster);
  }
  std::string page, trace;
  if (!arguments.html.empty())
    page = diagnosis_page(known, "Diagnosis of " + std::filesystem::path(files.front()).filename().string());
  if (!arguments.timeline.empty()) {
    trace = diagnosis_trace(known);
    if (is_gzip_name(arguments.timeline)) trace = gzipped(trace);
  }
  const std::pair<std::string, const std::string*> outputs[] = {{arguments.timeline, &trace},
                                                                {prints_page ? "" : arguments.html, &page},
                                                                {arguments.profile_out, &profile},
                                                                {arguments.cluster_out, &cluster}};
  if (!arguments.plot.empty()) write_picture(context.files(), arguments.plot, workers_picture(known));
  for (const auto& [file, text] : outputs)
    if (!file.empty()) context.files().write(file, *text);
  if (fitted)
    for (const std::string& warning : fitted->collectives.warnings) context.console.warn(warning);
  if (prints_page) return context.console.print_text(page);
  const JsonValue json = diagnosis_json(known, fitted ? &*fitted : nullptr, expected);
  context.console.show(diagnosis_view(), json, arguments.json);
  if (fitted && !arguments.json) {
    context.console.print_text("\n");
    context.console.show(fitted_job_view(), json);
  }
}

}  // namespace

void add_diagnose(CommandLine& app) {
  auto [command, arguments] = app.add<DiagnoseArguments>(
      "diagnose", "find out which worker slows down a job, from traces of its ranks", execute);
  command
      .add_option(
          "file", arguments.files, values::file,
          "a timeline: a CSV of ops, a trace of the straggler analyser, or Kineto traces of several ranks; .gz is "
          "decompressed")
      .required();
  command.add_option("--steps", arguments.steps, {"FIRST-LAST,..."}, "use only these steps, such as 16-30,33-60");
  command.add_flag("--json", arguments.json, "print one JSON object");
  command.add_option("--plot", arguments.plot, values::file, "draw how slow each worker is: FILE.svg, .png or .pdf");
  command.add_option("--timeline", arguments.timeline, values::file,
                     "write the replayed steps and the ideal one as a trace for ui.perfetto.dev; .gz is compressed");
  command.add_option("--html", arguments.html, values::file,
                     "write a web page: the report, a step measured and simulated, workers; - prints it");
  command.add_option(
      "--profile-out", arguments.profile_out, values::file,
      "for Kineto traces: write the median rank's profile, as `allreplay import` does (sharded: its units)");
  command.add_option("--cluster-out", arguments.cluster_out, values::file,
                     "for Kineto traces of PyTorch 2.2 or later, which have message sizes: write a cluster file with "
                     "the measured alpha, beta, launch and jitter");
  command.add_option("-c,--cluster", arguments.cluster, values::cluster,
                     "for sharded jobs: also show how fast this cluster should carry their gathers and reductions");
  command.footer =
      "The numbers are explained in docs/diagnosis.md.\n"
      "Examples:\n"
      "  allreplay diagnose job.csv --steps 16-30 --html job.html\n"
      "  allreplay diagnose rank*.pt.trace.json.gz --profile-out mine.json --cluster-out job.json";
}

}  // namespace allreplay
