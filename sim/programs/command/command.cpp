#include "sim/programs/command/command.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/formats/interchange/gzip.hpp"
#include "sim/inputs/estimate/estimate.hpp"
#include "sim/output/picture/picture_file.hpp"
#include "sim/output/report/phrases.hpp"
#include "sim/plans/schedule/unknown_name_hints.hpp"
#include "sim/programs/command/help.hpp"
#include "sim/replay/network/fidelity.hpp"
#include "sim/replay/training/possible.hpp"
#include "sim/replay/training/sharding.hpp"
#include "sim/studies/experiment/cluster_words.hpp"
#include "sim/studies/experiment/over_seeds.hpp"
#include "sim/studies/experiment/progress.hpp"
#include "sim/studies/experiment/side_by_side.hpp"

namespace allreplay {

SourceLocation argument(const std::string& option) { return {"command line", option}; }

std::vector<std::string> names_in(const std::vector<std::string>& lists, const SourceLocation& place) {
  std::vector<std::string> names;
  for (const std::string& list : lists)
    for (std::size_t start = 0; start <= list.size();) {
      const std::size_t end = std::min(list.find(',', start), list.size());
      const std::string name(trim(std::string_view(list).substr(start, end - start)));
      if (name.empty()) throw InputError(place, fmt::format("'{}' has an empty name", list), "names, such as a,b,c");
      if (std::find(names.begin(), names.end(), name) != names.end())
        throw InputError(place, fmt::format("'{}' is given twice", name), "each name once");
      names.push_back(name);
      start = end + 1;
    }
  return names;
}

bool selects_all(const std::vector<std::string>& strategies) {
  const std::vector<std::string> names = names_in(strategies, argument("--strategies"));
  const bool all = std::find(names.begin(), names.end(), every_strategy) != names.end();
  if (all && names.size() > 1)
    throw InputError(argument("--strategies"), "combines \"all\" with other names", "all, or a list of names");
  return all;
}

namespace {

constexpr std::int64_t most_jobs = 1024;

}  // namespace

void add_jobs_option(Command& command, std::string& jobs, std::string_view what) {
  command.add_option("-j,--jobs", jobs, values::number,
                     fmt::format("number of {} at a time, at most {}; results do not depend on it", what, most_jobs));
}

int parse_jobs(const std::string& text) {
  return static_cast<int>(parse_integer(text, 1, most_jobs, argument("--jobs")));
}

std::string left_out(const std::string& name, const std::string& why, bool several) {
  return fmt::format("{} {} left out: {}", name, several ? "are" : "is", why);
}

void note_left_out(Console& console, const std::vector<std::string>& strategies) {
  if (strategies.empty()) return;
  console.note_on_success(fmt::format("left out, since the options given are not for {}: {}",
                                      strategies.size() == 1 ? "it" : "them", listed(strategies, 4)));
}

void OptionsOfSome::drop_others(Library& library, Request& request, Scenario& scenario) {
  std::vector<std::string> dropped = options_not_taken(scenario);
  std::erase_if(dropped, [&](const std::string& option) {  // options from files are kept
    return std::erase_if(request.options, [&](const OptionText& one) { return one.name == option; }) == 0;
  });
  for (const std::string& option : dropped) not_taken_.try_emplace(option, scenario);
  if (!dropped.empty()) scenario = library.resolve(request);
  if (!is_compatible(scenario)) return;
  for (const OptionText& one : request.options) taken_.insert(one.name);
  for (const std::string& option : dropped)
    if (auto& names = without_[option]; std::find(names.begin(), names.end(), request.strategy) == names.end())
      names.push_back(request.strategy);
}

void OptionsOfSome::require_taken() const {
  for (const auto& [option, first] : not_taken_)
    if (!taken_.contains(option)) require_possible(first);
}

void OptionsOfSome::tell(Console& console) const {
  for (const auto& [option, without] : without_)
    console.note_on_success(fmt::format("{} does not apply to {}, which {} without it", flag_of(option),
                                        listed(without, without.size()), without.size() == 1 ? "runs" : "run"));
}

void on_farm(Console& console, const std::function<Farm::Answer()>& prepare,
             const std::function<void(Farm& farm)>& lead) {
  Farm farm(mpi_transport());
  if (!farm.leads()) return farm.work(prepare);
  farm.silent = [&](const std::vector<int>& ranks) {
    console.print_stderr(fmt::format("note: no answer from rank{} {} for {}: busy with a long simulation, or stopped",
                                     ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "),
                                     format_duration(std::chrono::duration<double>(farm.patience).count())));
  };
  if (farm.workers() == 0)
    console.print_stderr("note: one rank, which simulates everything itself (for more: mpirun -n N allreplay …)");
  lead(farm);
}

Outcome run_with_progress(const Console& console, const Scenario& scenario) {
  const std::string name(scenario.strategy->name);
  return run(scenario, console.watch(name)(steps_of(scenario)), console.watch(name + ": plans"));
}

void add_engine(Command& command, std::string& engine) {
  command.add_option("--engine", engine, {.name = "ENGINE", .choices = "mpi"},
                     "mpi: simulate on the ranks of mpirun (docs/clusters.md)");
}

void on_engine(Console& console, const std::string& engine, const std::function<Farm::Answer()>& prepare,
               const std::function<void(Farm* farm)>& lead) {
  if (engine.empty()) return lead(nullptr);
  if (engine != "mpi")
    throw InputError(argument("--engine"), fmt::format("'{}' is not an engine of this command", engine), "mpi");
  on_farm(console, prepare, [&](Farm& farm) { lead(&farm); });
}

double parse_share(const std::string& text, const std::string& flag, std::string_view example) {
  const SourceLocation place = argument(flag);
  const bool percent = text.ends_with('%');
  const double value = parse_number(std::string(trim(std::string_view(text).substr(0, text.size() - percent))), place);
  const double share = percent ? value / 100 : value;
  if (!(share >= 0 && share < 1))
    throw InputError(place, fmt::format("'{}' is not a valid share", text),
                     fmt::format("from 0 to below 1, such as {}", example));
  return share;
}

WinningRule WinningArguments::rule() const {
  const double share = parse_share(tie, "--tie", "0.02 or 2%");
  if (!now.empty()) find_strategy(now, argument("--now"));
  WinningRule rule{share, now, parse_share(headroom, "--headroom", "0.1 or 10%")};
  if (doubt == "none") return rule;
  rule.doubt = parse_share(doubt, "--doubt", "0.5, 50% or none");
  if (*rule.doubt <= 0) throw InputError(argument("--doubt"), "leaves no bandwidth", "0.5, 50% or none");
  return rule;
}

void add_doubt_option(Command& command, WinningArguments& arguments) {
  arguments.doubt = "0.5";
  command.add_option(
      "--doubt", arguments.doubt, {"SHARE|none"},
      "part of the bandwidth between nodes with which the winner, what ties with it and the best of another "
      "kind are replayed; of ties what loses least there wins, and the verdict says if another one does");
}

void add_winning_options(Command& command, WinningArguments& arguments) {
  command.add_option("--tie", arguments.tie, {"SHARE"},
                     "rows within this share of the fastest tie, and the simplest to run wins: what runs now, then a "
                     "framework's default, then the fewest options changed; if less than 20 % of the memory is free, "
                     "memory decides first");
  command.add_option("--now", arguments.now, values::strategy, "the strategy that you run now, which wins ties");
  command.add_option(
      "--headroom", arguments.headroom, {"SHARE"},
      "the share of a worker's memory that the winner leaves free, for what is not simulated: fragments of "
      "the allocator, buffers of NCCL and cuBLAS, temporary tensors");
}

Training TrainingArguments::training() const {
  Training training;
  if (!tokens.empty()) training.amount = parse_amount(tokens, "tok", argument("--tokens"));
  if (!samples.empty()) {
    training.amount = parse_amount(samples, "", argument("--samples"));
    training.in_tokens = false;
  }
  for (const auto& [text, option] : {std::pair(&price, "--price"), {&pue, "--pue"}})
    if (!text->empty() && !training.is_asked())
      throw InputError(argument(option), "needs a training", "--tokens 15T or --samples 90M in addition");
  if (!price.empty()) training.prices = parse_prices(price, argument("--price"));
  if (!pue.empty()) training.pue = parse_number(pue, argument("--pue"));
  if (!(training.pue >= 1 && training.pue <= 10))
    throw InputError(argument("--pue"), fmt::format("'{}' is not a valid PUE", pue), "1 to 10, such as 1.2");
  return training;
}

void add_training_options(Command& command, TrainingArguments& arguments) {
  constexpr const char* heading = "A whole training";
  Option& tokens = command
                       .add_option("--tokens", arguments.tokens, {"N"},
                                   "days, GPU-hours and energy of training on so many tokens, such as 15T")
                       .group(heading);
  command.add_option("--samples", arguments.samples, {"N"}, "the same in samples, such as 90M")
      .excludes(tokens)
      .group(heading);
  command
      .add_option("--price", arguments.price, {"PRICE"},
                  "dollars per GPU-hour, such as 2.5/h; CLUSTER=2.5/h,... for each cluster")
      .group(heading);
  command
      .add_option("--pue", arguments.pue, values::number,
                  "energy of the data centre over that of its GPUs at their rated power (1)")
      .group(heading);
}

void add_strategy_or_plan(Command& command, std::string& strategy, std::string& plan) {
  command.add_option("-s,--strategy", strategy, values::strategy, "see `allreplay list strategies`");
  command.add_option("--plan", plan, values::file,
                     "instead of --strategy: a plan from a file, as `allreplay plan --json` writes it");
}

void require_strategy_or_plan(const std::string& strategy, const std::string& plan) {
  if (strategy.empty() && plan.empty())
    throw InputError(argument("--strategy"), "is required", "a name from `allreplay list strategies`, or --plan FILE");
  if (!strategy.empty() && !plan.empty())
    throw InputError(argument("--plan"), "cannot be combined with --strategy", "one of them");
}

namespace {

// Throws InputError if a file is there that the command would not have written.
void require_own_kind(const Output& output) {
  constexpr std::pair<std::string_view, std::string_view> pictures[] = {
      {".svg", "<svg"}, {".png", "\x89PNG"}, {".pdf", "%PDF"}, {".gz", "\x1f\x8b"}};
  std::string_view mark = output.mark;
  for (const auto& [ending, start] : pictures)
    if (output.file.ends_with(ending)) mark = start;
  if (mark.empty() || output.force.value_or(false) || !std::filesystem::is_regular_file(output.file)) return;
  std::ifstream there(output.file, std::ios::binary);
  std::string before(std::size_t{1} << 20, '\0');  // every mark stands at the beginning
  before.resize(static_cast<std::size_t>(there.read(before.data(), std::ssize(before)).gcount()));
  if (!before.empty() && before.find(mark) == std::string::npos)
    throw InputError(argument(output.option), fmt::format("'{}' exists, and is not such a file", output.file),
                     output.force ? "another name, or --force to replace it" : "another name, or remove it first");
}

}  // namespace

void require_separate(const Files& files, const std::vector<Output>& outputs, const std::vector<std::string>& inputs) {
  std::set<std::string> read;
  for (const std::string& input : inputs) read.insert(files.identity(input));
  std::map<std::string, std::string> written;  // option by file
  for (const auto& [option, file, is_compressed, mark, force, is_picture] : outputs) {
    if (is_picture && !file.empty()) require_picture(file, argument(option));
    if (file.starts_with("--"))
      throw InputError(argument(option), fmt::format("'{}' is an option, not a file", file),
                       fmt::format("{} FILE, or ./{} for a file of that name", option, file));
    if (file == "-") throw InputError(argument(option), "'-' is not a file", "a name (./- for a file called -)");
    if (is_gzip_name(file) && !is_compressed)
      throw InputError(argument(option), fmt::format("'{}' ends in .gz, but this file is not compressed", file),
                       "a name without .gz");
    const std::string identity = files.identity(file);
    if (identity.empty()) continue;
    if (read.count(identity) > 0)
      throw InputError(argument(option), fmt::format("'{}' is an input", file), "another file to write");
    const auto [other, fresh] = written.emplace(identity, option);
    if (!fresh)
      throw InputError(argument(option),
                       other->second == option ? fmt::format("would write '{}' twice", file)
                                               : fmt::format("'{}' is also the file of {}", file, other->second),
                       "another file to write");
  }
  for (const Output& output : outputs)
    if (!output.file.empty()) {
      files.require_writable(output.file);
      require_own_kind(output);
    }
}

CollectiveOp parse_operation(const std::string& name) {
  const auto letters_of = [](std::string text) {
    if (text.ends_with("_perf")) text.resize(text.size() - 5);
    std::erase_if(text, [](char c) { return c == '-' || c == '_'; });
    return text;
  };
  const auto rows = operations_with(&OperationRow::usual);
  for (const OperationRow& row : rows)
    if (letters_of(std::string(row.name)) == letters_of(name)) return row.value;
  fail_with_all(name, names_of(rows), argument("--operation"), "unknown operation '{}'");
}

void print_csv(Console& console, const std::vector<Row>& rows) {
  std::vector<std::string_view> names;
  for (const NamedCell& one : rows.front()) names.push_back(one.column->key);
  console.print("{}\n", csv_header(names));
  for (const Row& row : rows) console.print("{}\n", to_csv(row));
}

std::uint64_t parse_seed(const std::string& text) {
  return static_cast<std::uint64_t>(
      parse_integer(text, 0, std::numeric_limits<std::int64_t>::max(), argument("--seed")));
}

void add_seeds_option(Command& command, std::string& seeds) {
  command.add_option(
      "--seeds", seeds, {.name = "FROM:TO|N,..."},
      "repeat it with these seeds of jitter, spread and ecmp, the same for all rows: means and statistics");
}

std::vector<std::uint64_t> seeds_in(const std::string& text) {
  return text.empty() ? std::vector<std::uint64_t>() : parse_seeds(text, argument("--seeds"));
}

double positive_number(const std::string& text, const std::string& option) {
  const double value = parse_number(text, argument(option));
  if (!(value > 0)) throw InputError(argument(option), fmt::format("{} is not above 0", text), "a positive number");
  return value;
}

std::string file_behind(const Files& files, std::string_view folder, const std::string& name) {
  return files.locate_data(folder, name).value_or("");
}

}  // namespace allreplay
