#include <filesystem>

#include <fmt/format.h>

#include "sim/command/command.hpp"
#include "sim/core/file.hpp"
#include "sim/diagnosis/fitted_job.hpp"
#include "sim/experiment/progress.hpp"
#include "sim/html/diagnosis_page.hpp"
#include "sim/interchange/gzip.hpp"
#include "sim/interchange/importers/importer.hpp"
#include "sim/interchange/timelines/readers.hpp"
#include "sim/picture/picture_file.hpp"
#include "sim/report/diagnosis_report.hpp"
#include "sim/view/diagnosis_picture.hpp"
#include "sim/view/diagnosis_trace.hpp"
#include "sim/workload/profile_writer.hpp"

namespace allreplay {

namespace {

struct DiagnoseArguments {
  std::vector<std::string> files;
  std::string steps, plot, timeline, html, profile_out, cluster_out;
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

void execute(Context& context, const DiagnoseArguments& arguments) {
  if (!arguments.plot.empty()) require_picture(arguments.plot, argument("--plot"));
  const bool prints_page = arguments.html == "-";
  if (prints_page && arguments.json)
    throw InputError(argument("--html"), "'-' prints the page, but --json prints another text",
                     "one of them, or a file");
  require_separate(context.files(),
                   {{"--plot", arguments.plot},
                    {"--timeline", arguments.timeline, true},
                    {"--html", prints_page ? "" : arguments.html},
                    {"--profile-out", arguments.profile_out},
                    {"--cluster-out", arguments.cluster_out}},
                   arguments.files);
  const StepChoice steps(arguments.steps, argument("--steps"));
  MeasuredJob job = read_measured_job(context.files(), arguments.files, steps);
  for (const auto& [file, option] :
       {std::pair(arguments.profile_out, "--profile-out"), std::pair(arguments.cluster_out, "--cluster-out")})
    if (!file.empty() && !job.kineto)
      throw InputError(argument(option), "this timeline has no message sizes", "Kineto traces, which have them");
  const std::vector<std::string> files = job.files;
  const Diagnosis known = diagnosis_of(context, std::move(job));
  for (const auto& notes : {known.job.notes, steps.missed(known.job.steps)})
    for (const std::string& note : notes) context.console.print_stderr("note: " + note);

  // All is made before anything is written.
  std::string profile, cluster;
  if (!arguments.profile_out.empty()) {
    ByteSource source(context.files(), files[median_replica(known)]);
    const Imported imported = import_profile(find_importer("kineto", argument("--profile-out")), source, {});
    profile = profile_json(imported.profile, imported.notes);
    context.console.print_stderr(fmt::format("note: the profile is that of the {} rank, {}",
                                             files.size() % 2 == 1 ? "median" : "median (the faster of the middle two)",
                                             source.file()));
  }
  std::optional<FittedJob> fitted;
  if (!arguments.cluster_out.empty()) {
    fitted = fit_job(known);
    cluster = fitted_cluster(*fitted, known, std::filesystem::path(arguments.cluster_out).stem().string(),
                             argument("--cluster-out"));
    for (const std::string& warning : fitted->collectives.warnings) context.console.warn(warning);
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
  if (prints_page) return context.console.print_text(page);
  const JsonValue json = diagnosis_json(known, fitted ? &*fitted : nullptr);
  context.console.show(diagnosis_view(), json, arguments.json);
  if (fitted && !arguments.json) {
    context.console.print_text("\n");
    context.console.show(fitted_job_view(), json);
  }
}

}  // namespace

void add_diagnose(CommandLine& app) {
  auto arguments = std::make_shared<DiagnoseArguments>();
  Command command = app.add_subcommand("diagnose", "find out which worker slows down a job, from traces of its ranks");
  command
      .add_option(
          "file", arguments->files, values::file,
          "a timeline: a CSV of ops, a trace of the straggler analyser, or Kineto traces of several ranks; .gz is "
          "decompressed")
      .required();
  command.add_option("--steps", arguments->steps, {"FIRST-LAST,..."}, "use only these steps, such as 16-30,33-60");
  command.add_flag("--json", arguments->json, "print one JSON object");
  command.add_option("--plot", arguments->plot, values::file, "draw how slow each worker is: FILE.svg, .png or .pdf");
  command.add_option("--timeline", arguments->timeline, values::file,
                     "write the replayed steps and the ideal one as a trace for ui.perfetto.dev; .gz is compressed");
  command.add_option("--html", arguments->html, values::file,
                     "write a web page: the report, a step measured and simulated, workers; - prints it");
  command.add_option("--profile-out", arguments->profile_out, values::file,
                     "for Kineto traces: write the median rank's profile, as `allreplay import` does");
  command.add_option("--cluster-out", arguments->cluster_out, values::file,
                     "for Kineto traces of PyTorch 2.2 or later, which have message sizes: write a cluster file with "
                     "the measured alpha, beta, launch and jitter");
  command.footer(
      "The numbers are explained in docs/diagnosis.md.\n"
      "Examples:\n"
      "  allreplay diagnose job.csv --steps 16-30 --html job.html\n"
      "  allreplay diagnose rank*.pt.trace.json.gz --profile-out mine.json --cluster-out job.json");
  command.callback([arguments](Context& context) { execute(context, *arguments); });
}

}  // namespace allreplay
