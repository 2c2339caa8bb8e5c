#include "sim/programs/command/sweep.hpp"

#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/interruption.hpp"
#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/output/report/jobs_report.hpp"
#include "sim/output/report/notes.hpp"
#include "sim/output/report/sweep_report.hpp"
#include "sim/programs/command/console.hpp"
#include "sim/studies/experiment/sweep.hpp"
#include "sim/studies/jobs/jobs_sweep.hpp"

namespace allreplay {

namespace {

// Prints objects, each in JSON of several lines, as an array, and frees them: there may be 100,000.
void print_array(Console& console, std::vector<std::string>& objects) {
  for (std::string& object : objects) {
    std::string text = &object == objects.data() ? "[\n  " : ",\n  ";
    for (const char c : std::exchange(object, {})) text += c == '\n' ? std::string("\n  ") : std::string(1, c);
    console.print("{}", text);
  }
  console.print("{}]\n", objects.empty() ? "[" : "\n");
}

// The errors of the nearest measurements, by the name of each estimated profile: those for its
// first row that fits into memory, if one does.
std::map<std::string, NearestError> errors_of_estimates(const SweepResult& result, const Requests& requests,
                                                        const Inputs& inputs) {
  std::map<std::string_view, std::set<std::string_view>> estimated;  // with the strategies that fit
  for (const ResultRow& row : result.rows)
    if (is_estimated(row.origin) && row.fits()) estimated[row.profile].insert(row.strategy);
  for (const ResultRow& row : result.rows)
    if (is_estimated(row.origin) && !estimated.contains(row.profile)) estimated[row.profile].insert(row.strategy);
  std::map<std::string, NearestError> errors;
  std::set<std::pair<std::string, std::string>> resolved;
  Library library(inputs);
  for (const Request request : requests) {
    if (errors.size() == estimated.size()) break;
    if (!resolved.insert({request.profile.value, request.strategy.value}).second) continue;
    const Scenario scenario = library.resolve(request);
    const auto found = estimated.find(scenario.profile->name);
    if (found == estimated.end() || !scenario.strategy || !found->second.contains(scenario.strategy->name)) continue;
    errors.emplace(scenario.profile->name, nearest_error(scenario));
  }
  return errors;
}

// Collects the simulated rows and prints them in order when all are complete.
class Printout {
 public:
  Printout(const SweepArguments& arguments, const AskedSweep& asked)
      : arguments_(arguments),
        asked_(asked),
        keeps_(!arguments.json || (!arguments.tidy.empty() && arguments.out.empty())),
        rows_{"the sweep", {asked.questions.columns.begin(), asked.questions.columns.end()}, {}} {}

  void add(std::size_t place, const SimulatedRow& row) {
    if (!row.warning.empty()) warnings_[place] = row.warning;
    if (keeps_) rows_.set(place, row.row);
    if (!arguments_.json) return;
    objects_.resize(std::max(objects_.size(), place + 1));
    objects_[place] = json_text(json_of(row.row), 2);
  }

  void print_all(Context& context) {
    Console& console = context.console;
    for (const auto& [place, warning] : warnings_) console.warn(warning);
    if (arguments_.json) return print_array(console, objects_);
    if (rows_.rows.empty()) return;
    if (arguments_.csv) return print_csv(console);
    constexpr std::size_t few = 30;  // rows that fit on a screen
    const std::size_t count = rows_.rows.size();
    const bool shows_all = arguments_.table || count <= few;
    const bool of_jobs = asked_.of_jobs;
    const JsonValue document = of_jobs ? jobs_sweep_document(rows_) : document_of_rows(context.inputs, shows_all);
    const std::string& out = arguments_.out;
    if (shows_all)
      console.show(of_jobs ? jobs_sweep_table_view() : sweep_table_view(), document);
    else
      console.print("{}\n", wrapped(fmt::format("{} rows{}; --table prints all.\n", count,
                                                out.empty() ? "; --out FILE.csv or --csv keeps them" : " in " + out),
                                    screen().width));
    console.show(of_jobs ? jobs_sweep_verdict_view() : sweep_verdict_view(), document);
  }

  /// The rows, for --tidy without --out.
  const ResultTable& rows() const { return rows_; }

 private:
  JsonValue document_of_rows(const Inputs& inputs, bool with_rows) {
    const SweepResult result = sweep_result_of(std::move(rows_), arguments_.winning.rule());
    return sweep_document(result, with_rows, errors_of_estimates(result, asked_.requests, inputs));
  }

  void print_csv(Console& console) const {
    const std::vector<std::string_view> columns(rows_.columns.begin(), rows_.columns.end());
    console.print("{}\n", csv_header(columns));
    for (const ResultLine& line : rows_.rows) console.print("{}\n", to_csv(line.cells));
  }

  const SweepArguments& arguments_;
  const AskedSweep& asked_;
  const bool keeps_;
  std::map<std::size_t, std::string> warnings_;
  std::vector<std::string> objects_;  // in JSON
  ResultTable rows_;
};

// The files that a sweep writes: the rows, digests of their inputs (.rows), and locks for writing and for submitting.
std::vector<Output> outputs_of(const SweepArguments& arguments) {
  std::vector<Output> outputs;
  if (!arguments.tidy.empty()) outputs.push_back({"--tidy", arguments.tidy});
  if (!arguments.out.empty())
    for (const char* ending : {"", ".rows", ".lock", ".slurm.lock"})
      outputs.push_back({"--out", arguments.out + ending});
  return outputs;
}

// The files that a sweep reads, which it must not overwrite.
std::vector<std::string> inputs_of(const Files& files, const SweepArguments& arguments, const AskedSweep& asked) {
  std::set<std::string> inputs{file_behind(files, "configs", arguments.file)};
  inputs.insert(asked.jobs_files.begin(), asked.jobs_files.end());
  std::set<std::pair<std::string_view, std::string>> named;  // unique, since a look-up takes longer than a row
  for (const Request request : asked.requests) {
    if (!request.plan.empty()) inputs.insert(request.plan);
    named.insert({{"traces", request.profile}, {"topologies", request.cluster}, {"models/codecs", request.codec}});
  }
  for (const auto& [folder, name] : named) inputs.insert(file_behind(files, folder, name));
  inputs.insert(arguments.parts.begin(), arguments.parts.end());
  return {inputs.begin(), inputs.end()};
}

// Rejects options that need another engine or --out. Throws InputError.
void require_one_way(const SweepArguments& arguments) {
  const bool slurm = arguments.engine == "slurm", merge = !arguments.parts.empty();
  if (!arguments.engine.empty() && !slurm && arguments.engine != "mpi")
    throw InputError(argument("--engine"), fmt::format("'{}' is not an engine", arguments.engine), "known: mpi, slurm");
  const std::pair<const char*, bool> not_of_slurm[] = {
      {"--csv", arguments.csv}, {"--json", arguments.json}, {"--tidy", !arguments.tidy.empty()}};
  for (const auto& [option, given] : not_of_slurm)
    if (given && slurm) throw InputError(argument(option), "cannot be combined with --engine slurm", "one of them");
  const std::pair<const char*, bool> of_slurm[] = {{"--partition", !arguments.partition.empty()},
                                                   {"--time", !arguments.time.empty()},
                                                   {"--chunk", !arguments.chunk.empty()},
                                                   {"--dry-run", arguments.dry_run},
                                                   {"--detach", arguments.detach}};
  for (const auto& [option, given] : of_slurm)
    if (given && !slurm) throw InputError(argument(option), "needs --engine slurm", "both, or neither");
  if (!arguments.out.empty()) return;
  const std::pair<const char*, bool> of_files[] = {
      {"--resume", arguments.resume}, {"--merge", merge}, {"--engine slurm", slurm}};
  for (const auto& [option, given] : of_files)
    if (given) throw InputError(argument(option), "needs a file for the rows", "add --out FILE.csv");
}

// Writes the rows for --tidy.
void write_tidy(Context& context, const SweepArguments& arguments, const AskedSweep& asked, ResultTable table) {
  if (!asked.of_jobs) add_cluster_columns(table, context.inputs, asked.requests);
  context.files().write(arguments.tidy, tidy_csv(table));
}

void merge(Context& context, const SweepArguments& arguments) {
  const AskedSweep asked = arguments.asked(context.inputs);
  require_separate(context.files(), outputs_of(arguments), inputs_of(context.files(), arguments, asked));
  const MergedSweep merged = merge_sweep(asked.questions, arguments.parts, arguments.out, arguments.force);
  if (merged.missing.empty() && !arguments.tidy.empty())
    write_tidy(context, arguments, asked, read_results(context.files(), arguments.out));
  if (merged.missing.empty())
    return context.console.print_stderr(
        fmt::format("{} in {}", counted(static_cast<std::int64_t>(merged.rows), "row"), arguments.out));
  throw Incomplete(fmt::format("{}: {} (`allreplay sweep {} --resume --out {}` computes them)", arguments.out,
                               missing_rows(merged.missing, merged.rows), shell_word(arguments.file),
                               shell_word(arguments.out)));
}

// Replaces {} in a name such as "part-{}.csv" by the share's number.
std::string file_of_share(std::string out, const Share& share) {
  if (const std::size_t hole = out.find("{}"); hole != std::string::npos)
    out.replace(hole, 2, std::to_string(share.index));
  return out;
}

void run_and_print(Context& context, SweepArguments arguments, Farm* farm) {
  SweepRun how;
  how.jobs = parse_jobs(arguments.threads);
  how.farm = farm;
  how.progress = !context.console.output_is_captured();
  if (!arguments.shard.empty()) {
    how.share = parse_shard(arguments.shard);
    arguments.out = file_of_share(arguments.out, how.share);
  }
  if (!arguments.out.empty()) how.out = arguments.out;
  how.resume = arguments.resume;
  how.force = arguments.force;
  how.note = [&](const std::string& text) { context.console.print_stderr("note: " + text); };
  const AskedSweep asked = arguments.asked(context.inputs);
  require_separate(context.files(), outputs_of(arguments), inputs_of(context.files(), arguments, asked));
  Printout printout(arguments, asked);
  std::optional<LastWords> last_words;  // message on interruption, set once a row is written
  how.each = [&](std::size_t place, const SimulatedRow& row) {
    printout.add(place, row);
    if (!last_words && !farm && how.progress && how.out && std::filesystem::is_regular_file(*how.out))
      last_words.emplace(
          fmt::format("interrupted: the rows so far are in {}; continue with the same command and --resume", *how.out));
  };
  const Swept swept = run_sweep(asked.questions, how);
  last_words.reset();
  if (!arguments.tidy.empty())
    write_tidy(context, arguments, asked, how.out ? read_results(context.files(), *how.out) : printout.rows());
  printout.print_all(context);
  if (how.out) {
    std::fflush(stdout);  // so that the table precedes the line on standard error
    const std::size_t kept = swept.rows - swept.simulated;
    context.console.print_stderr(
        fmt::format("{} in {}{}", counted(static_cast<std::int64_t>(swept.rows), "row"), *how.out,
                    kept == 0 ? "" : fmt::format(" ({} {} there already)", kept, kept == 1 ? "was" : "were")));
  }
}

void execute(Context& context, const SweepArguments& arguments) {
  if (arguments.engine == "mpi")
    return on_farm(
        context.console, [&] { return answer_rows(arguments.asked(context.inputs).questions); },
        [&](Farm& farm) {
          require_one_way(arguments);
          run_and_print(context, arguments, &farm);
        });
  require_one_way(arguments);
  if (arguments.engine == "slurm") {
    require_separate(context.files(), outputs_of(arguments),
                     inputs_of(context.files(), arguments, arguments.asked(context.inputs)));
    return sweep_on_slurm(context, arguments);
  }
  if (!arguments.parts.empty()) return merge(context, arguments);
  run_and_print(context, arguments, nullptr);
}

}  // namespace

int SweepArguments::thread_count() const { return parse_jobs(threads); }

AskedSweep SweepArguments::asked(const Inputs& inputs) const {
  const SweepOverrides instead{.collective = {collective, argument("--collective")},
                               .fidelity = {fidelity, argument("--fidelity")},
                               .codec = {codec, argument("--codec")},
                               .reuse = !no_reuse,
                               .seeds = seeds_in(seeds),
                               .changes = changes_of(changes)};
  const Json read = Json::read(inputs.files, inputs.files.find_data("configs", file, "sweep"));
  if (!read.find("jobs")) {
    const Sweep sweep = read_sweep(inputs, read, instead);
    return {sweep, sweep.requests, {}, false};
  }
  const JobsSweep sweep = read_jobs_sweep(inputs, read, instead);
  return {questions_of(sweep), sweep.requests, sweep.files, true};
}

void add_sweep(CommandLine& app) {
  auto [command, arguments] =
      app.add<SweepArguments>("sweep", "simulate every combination listed in a sweep file", execute);
  command
      .add_option("file", arguments.file, {"FILE", "configs", true},
                  "a sweep file, or a name from `allreplay list configs`")
      .required();
  add_jobs_option(command, arguments.threads, "rows");
  command.add_option("--tidy", arguments.tidy, values::file,
                     "also write the rows to this CSV file for other programs: only columns with values, the cluster's "
                     "nodes, GPUs, ports and bandwidth, and this program's version in a comment");
  command.add_option("--out", arguments.out, values::file,
                     "write the rows to this CSV file, each as soon as it is finished");
  command.add_flag("--resume", arguments.resume,
                   "keep rows in --out that were made from the same inputs by this program");
  command.add_flag("--force", arguments.force, "replace --out even if no sweep wrote it");
  command.add_option("--collective", arguments.collective, {"COLLECTIVE", "collectives"}, "instead of the file's");
  command.add_option("--fidelity", arguments.fidelity, one_of("FIDELITY", [] { return names_of(fidelities); }),
                     "instead of the file's");
  command.add_option("--codec", arguments.codec, values::codec,
                     "instead of the file's; none for uncompressed gradients");
  command.add_flag("--no-reuse", arguments.no_reuse, "fluid, message: simulate every collective");
  command.add_option("--shard", arguments.shard, {.name = "I/N", .choices = "auto"},
                     "run only share I of N shares of equal cost, such as 0/4; auto: the task of a Slurm array, or the "
                     "MPI rank. {} in --out is replaced by its number");
  command.add_option("--merge", arguments.parts, {"PART", "", true}, "merge the parts that shares wrote into --out")
      .allow_extra_args();
  command.add_option("--engine", arguments.engine, {.name = "ENGINE", .choices = "mpi,slurm"},
                     "run on the ranks of mpirun (mpi), or as a Slurm array (slurm)");
  command.add_option("--partition", arguments.partition, values::name, "slurm: the partition to use (Slurm's default)");
  command.add_option("--time", arguments.time, values::duration, "slurm: time limit of a task (Slurm's default)");
  command.add_option("--chunk", arguments.chunk, values::number, "slurm: rows per task, about (enough for 100 tasks)");
  command.add_flag("--dry-run", arguments.dry_run, "slurm: print the job scripts without submitting them");
  command.add_flag("--detach", arguments.detach, "slurm: submit, print the command to continue with, and exit");
  add_seeds_option(command, arguments.seeds);
  add_change_options(command, arguments.changes, every_change);
  add_winning_options(command, arguments.winning);
  command.add_flag("--table", arguments.table, "print all rows, however many");
  command.add_flag("--json", arguments.json, "print a JSON array instead");
  command.add_flag("--csv", arguments.csv, "print CSV instead");
  constexpr std::pair<const char*, const char*> one_of_two[] = {
      {"--csv", "--json"},     {"--shard", "--engine"}, {"--shard", "--merge"}, {"--engine", "--merge"},
      {"--resume", "--merge"}, {"--csv", "--merge"},    {"--json", "--merge"},  {"--table", "--csv"},
      {"--table", "--json"},   {"--tidy", "--shard"}};
  for (const auto& [one, other] : one_of_two) command.get_option(one).excludes(command.get_option(other));
  command.footer =
      "Example:\n  allreplay sweep mgwfbp_fig10 --out fig10.csv\n  allreplay plot fig10.csv --config "
      "configs/mgwfbp_fig10.json --out fig10.png\n  mpirun -n 64 allreplay sweep mgwfbp_fig10 --engine mpi --out "
      "fig10.csv";
}

}  // namespace allreplay
