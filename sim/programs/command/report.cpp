#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/units.hpp"
#include "sim/output/html/pages.hpp"
#include "sim/programs/command/command.hpp"

namespace allreplay {

namespace {

struct ReportArguments {
  std::string file, config, out, timelines = "4";
  WinningArguments winning;
  bool force = false;
};

void execute(Context& context, const ReportArguments& arguments) {
  const auto most = parse_integer(arguments.timelines, 0, 1000, argument("--timelines"));
  require_separate(context.files(), {{"--out", arguments.out, false, "content=\"allreplay report\"", arguments.force}},
                   {arguments.file, file_behind(context.files(), "configs", arguments.config)});
  SweepResult result = sweep_result_of(read_results(context.files(), arguments.file), arguments.winning.rule());
  PageTitle title;
  ChosenTimelines chosen;
  if (!arguments.config.empty()) {
    title = page_title(context.files(), arguments.config);
    const Sweep sweep = read_sweep(context.inputs, arguments.config);
    doubt_races(context.inputs, result, sweep);
    chosen = choose_timelines(context.inputs, result, sweep, static_cast<std::size_t>(most));
  }
  context.files().write(arguments.out, report_page(result, chosen, title));
  for (const ChosenTimeline& one : chosen.timelines)
    if (const auto* problem = std::get_if<std::string>(&one.outcome))
      context.console.warn(
          fmt::format("no timeline of {}: line {}: {}", arguments.file, result.rows[one.row].line->line, *problem));
}

}  // namespace

void add_report(CommandLine& app) {
  auto [command, arguments] =
      app.add<ReportArguments>("report", "turn a sweep's CSV into a web page that works offline", execute);
  command.add_option("file", arguments.file, values::file, "a CSV written by `allreplay sweep --out FILE.csv`")
      .required();
  command.add_option("--config", arguments.config, values::config,
                     "the sweep file: gives the page its title and \"plot\"; timelines and --doubt need it");
  command.add_option("--out", arguments.out, values::file, "the page to write").required();
  command.add_option(
      "--timelines", arguments.timelines, values::number,
      "number of rows to simulate again for a timeline: the fastest and the slowest at the largest size");
  command.add_flag("--force", arguments.force, help_on_force);
  add_winning_options(command, arguments.winning);
  add_doubt_option(command, arguments.winning);
  command.footer =
      "Example:\n  allreplay sweep mgwfbp_fig10 --out fig10.csv\n  allreplay report fig10.csv --config mgwfbp_fig10 "
      "--out fig10.html";
}

}  // namespace allreplay
