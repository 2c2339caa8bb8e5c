#include "sim/experiment/sweep.hpp"

#include <cstdio>
#include <set>

#include <fmt/format.h>

#include "sim/command/command.hpp"
#include "sim/experiment/run.hpp"
#include "sim/report/report.hpp"

namespace allreplay {

namespace {

struct SweepArguments {
  std::string file, jobs = "2", out;
  std::string collective, fidelity, codec;
  ChangeArguments changes;
  bool resume = false, force = false, csv = false, json = false, no_reuse = false;
};

void print_rows(const SweepArguments& arguments, const std::vector<Outcome>& outcomes) {
  if (arguments.json) {
    std::vector<Row> rows;
    for (const Outcome& outcome : outcomes) rows.push_back(row_of(outcome));
    print("{}\n", to_json(rows));
  } else if (arguments.csv) {
    if (!outcomes.empty()) print("{}\n", csv_header());
    for (const Outcome& outcome : outcomes) print("{}\n", to_csv(row_of(outcome)));
  } else if (!outcomes.empty()) {
    print("{}", sweep_report(outcomes));
  }
}

// What a sweep writes: beside the rows what they were made from, and who is writing.
std::vector<Output> outputs_of(const std::string& out) {
  if (out.empty()) return {};
  return {{"--out", out}, {"--out", out + ".rows"}, {"--out", out + ".lock"}};
}

std::vector<std::string> inputs_of(const SweepArguments& arguments, const Sweep& sweep) {
  std::set<std::string> files{file_behind("configs", arguments.file)};
  for (const Request& request : sweep.requests)
    files.insert({file_behind("traces", request.profile), file_behind("topologies", request.cluster),
                  file_behind("models/codecs", request.codec)});
  return {files.begin(), files.end()};
}

void execute(const SweepArguments& arguments) {
  SweepRun how;
  how.jobs = static_cast<int>(parse_integer(arguments.jobs, 1, 1024, argument("--jobs")));
  if (!arguments.out.empty()) how.out = arguments.out;
  how.resume = arguments.resume;
  how.force = arguments.force;
  how.note = [](const std::string& text) { tell("note: " + text); };
  if (arguments.resume && arguments.out.empty())
    throw InputError(argument("--resume"), "there is no file to go on with", "give --out FILE.csv, too");
  const Sweep sweep = read_sweep(arguments.file, {.collective = arguments.collective,
                                                  .fidelity = arguments.fidelity,
                                                  .codec = arguments.codec,
                                                  .place_of_collective = argument("--collective"),
                                                  .place_of_fidelity = argument("--fidelity"),
                                                  .place_of_codec = argument("--codec"),
                                                  .reuse = !arguments.no_reuse,
                                                  .changes = changes_of(arguments.changes)});
  require_separate(outputs_of(arguments.out), inputs_of(arguments, sweep));
  const std::vector<Outcome> outcomes = run_sweep(sweep, how);
  for (const Outcome& outcome : outcomes) warn(outcome.result.warning);
  print_rows(arguments, outcomes);
  if (how.out) {
    std::fflush(stdout);  // the table before what follows it
    const std::size_t kept = sweep.requests.size() - outcomes.size();
    tell(fmt::format("{} rows in {}{}", sweep.requests.size(), *how.out,
                     kept > 0 ? fmt::format(" ({} were there already)", kept) : ""));
  }
}

}  // namespace

void add_sweep(CommandLine& app) {
  auto arguments = std::make_shared<SweepArguments>();
  Command command = app.add_subcommand("sweep", "simulate every combination that a configuration file lists");
  command.add_option("file", arguments->file, "a sweep file, or a name from `allreplay list configs`").required();
  command.add_option("-j,--jobs", arguments->jobs, "how many rows at a time; results do not depend on it")
      .capture_default_str();
  command.add_option("--out", arguments->out, "write the rows to this CSV file, each as soon as it is finished");
  command.add_flag("--resume", arguments->resume,
                   "keep the rows that --out already has, where they were made from the same inputs by this program");
  command.add_flag("--force", arguments->force, "replace a file at --out that no sweep wrote");
  command.add_option("--collective", arguments->collective, "this one instead of the file's");
  command.add_option("--fidelity", arguments->fidelity, "this one instead of the file's");
  command.add_option("--codec", arguments->codec, "this one instead of the file's; none for gradients as they are");
  command.add_flag("--no-reuse", arguments->no_reuse, "fluid, message: simulate every collective");
  add_change_options(command, arguments->changes, false);
  const Option json = command.add_flag("--json", arguments->json, "print a JSON array instead of the table");
  command.add_flag("--csv", arguments->csv, "print CSV instead of the table").excludes(json);
  command.footer(
      "Example:\n  allreplay sweep mgwfbp_fig10 --out fig10.csv\n  tools/plot.py fig10.csv --config "
      "configs/mgwfbp_fig10.json --out fig10.png");
  command.callback([arguments] { execute(*arguments); });
}

}  // namespace allreplay
