#include <chrono>

#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/output/picture/picture_file.hpp"
#include "sim/output/report/jobs_report.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/output/view/traces.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/studies/jobs/jobs_run.hpp"

namespace allreplay {

namespace {

struct JobsArguments {
  std::string file, stagger, minimise = "worst", plot, timeline;
  bool place = false, json = false, each = false;
};

// A choice is a whole run of all jobs.
void require_bearable(const JobsSearch& search, const JobsFile& file) {
  constexpr std::size_t most = 10'000;
  std::size_t placements = 0;
  for (const JobEntry& job : file.jobs) placements += job.choices.size();
  if (search.place && placements > most)
    throw InputError(argument("--place"), fmt::format("would try {} placements in turn", placements),
                     fmt::format("at most {} for all jobs together", most));
  const std::size_t others = file.jobs.size() - 1;
  if (search.stagger && others > most / static_cast<std::size_t>(*search.stagger))
    throw InputError(argument("--stagger"),
                     fmt::format("would try {} offsets of {} jobs in turn", *search.stagger, others),
                     fmt::format("at most {} for each", most / others));
}

void execute(Context& context, const JobsArguments& arguments) {
  const auto began = std::chrono::steady_clock::now();
  JobsSearch search{.place = arguments.place, .mean = arguments.minimise == "mean"};
  if (!arguments.stagger.empty()) search.stagger = parse_integer(arguments.stagger, 1, 1000, argument("--stagger"));
  if (!search.mean && arguments.minimise != "worst")
    throw InputError(argument("--minimise"), fmt::format("unknown aim '{}'", arguments.minimise), "worst or mean");
  if (arguments.each && !arguments.json) throw InputError(argument("--each"), "needs --json", "add --json");
  if (!arguments.timeline.empty() && !arguments.timeline.ends_with(".json"))
    throw InputError(argument("--timeline"), fmt::format("'{}' is not a trace file", arguments.timeline),
                     "a name that ends with .json, for ui.perfetto.dev");
  require_separate(context.files(),
                   {picture_at("--plot", arguments.plot), {"--timeline", arguments.timeline, false, mark_of_traces}},
                   {arguments.file});
  const JobsFile file = read_jobs(context.files(), Json::read(context.files(), arguments.file));
  require_bearable(search, file);
  Library library(context.inputs);
  JobsRunner runner(library, context.files(), file);
  if (!context.console.output_is_captured())
    runner.show_progress([&](const std::string& text) { context.console.note(text); });
  const bool searches = search.place || search.stagger;
  const bool draws = !arguments.plot.empty() || !arguments.timeline.empty();
  JobsRecord record;
  FoundJobs found;
  if (searches) found = search_jobs(runner, search);
  if (!searches)
    found.result = runner.run(choices_of(file), starts_of(file), draws ? &record : nullptr);
  else if (draws)
    runner.run(found.choices, starts_of(file, found.offsets), &record);
  if (!arguments.timeline.empty()) context.files().write(arguments.timeline, jobs_trace(found.result, file, record));
  if (!arguments.plot.empty()) write_picture(context.files(), arguments.plot, jobs_picture(found.result, record));
  const FoundJobs* printed = searches ? &found : nullptr;
  if (arguments.json) {
    JsonValue json = jobs_json(found.result, printed, arguments.each);
    json["wall_s"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return context.console.print("{}\n", json_text(json));
  }
  std::optional<JobsResult> undisturbed;
  if (most_slowed(found.result) && !(file.events.empty() && file.background.empty()))
    undisturbed =
        runner.run(searches ? found.choices : choices_of(file), starts_of(file, found.offsets), nullptr, false);
  context.console.show(jobs_view(), jobs_document(file, found.result, printed, undisturbed ? &*undisturbed : nullptr));
}

}  // namespace

void add_jobs(CommandLine& app) {
  auto [command, arguments] = app.add<JobsArguments>(
      "jobs", "simulate several jobs on one cluster, and clusters that change during the run", execute);
  command.add_option("file", arguments.file, values::file, "a jobs file (docs/jobs.md)").required();
  command.add_flag(
      "--place", arguments.place,
      "search the jobs' placements for the smallest slow-down relative to each job in isolation on the same seats");
  command.add_option("--stagger", arguments.stagger, {"[N]"}, "search this many start offsets (8) for each job")
      .implied("8");
  command.add_option("--minimise", arguments.minimise, {.name = "AIM", .choices = "worst,mean"},
                     "what --place and --stagger minimise: the worst slow-down, or the mean");
  command.add_flag("--json", arguments.json, "print one JSON object");
  command.add_flag("--each", arguments.each, "with --json: also print all measured iterations");
  command.add_option("--plot", arguments.plot, values::file,
                     "draw slow-downs, and the load of the busiest links over time");
  command.add_option("--timeline", arguments.timeline, values::file,
                     "write the last iterations for ui.perfetto.dev (.json)");
  command.footer = "Example:\n  allreplay jobs two.json --place";
}

}  // namespace allreplay
