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
#include "sim/output/report/phrases.hpp"
#include "sim/plans/schedule/unknown_name_hints.hpp"
#include "sim/programs/command/help.hpp"
#include "sim/replay/network/fidelity.hpp"
#include "sim/replay/training/possible.hpp"
#include "sim/replay/training/sharding.hpp"
#include "sim/studies/experiment/cluster_words.hpp"
#include "sim/studies/experiment/progress.hpp"

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

void add_jobs_option(Command command, std::string& jobs, std::string_view what) {
  command
      .add_option("-j,--jobs", jobs, values::number,
                  fmt::format("number of {} at a time, at most {}; results do not depend on it", what, most_jobs))
      .capture_default_str();
}

int parse_jobs(const std::string& text) {
  return static_cast<int>(parse_integer(text, 1, most_jobs, argument("--jobs")));
}

std::string left_out(const std::string& name, const std::string& why, bool several) {
  return fmt::format("{} {} left out: {}", name, several ? "are" : "is", why);
}

void note_left_out(Console& console, const std::vector<std::string>& strategies) {
  if (strategies.empty()) return;
  console.print_stderr(fmt::format("note: left out, since the options given are not for {}: {}",
                                   strategies.size() == 1 ? "it" : "them", listed(strategies, strategies.size())));
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
    console.note(fmt::format("{} does not apply to {}, which {} without it", flag_of(option),
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
  if (!scenario.stragglers.jitter || console.output_is_captured()) return run(scenario);
  Progress progress(std::string(scenario.strategy->name), static_cast<std::size_t>(scenario.options.iterations));
  return run(scenario, [&progress] { progress.advance(); });
}

void add_engine(Command command, std::string& engine) {
  command.add_option("--engine", engine, {.name = "ENGINE", .choices = "mpi"},
                     "mpi: simulate on the ranks of mpirun (docs/clusters.md)");
}

void require_mpi_or_none(const std::string& engine) {
  if (!engine.empty() && engine != "mpi")
    throw InputError(argument("--engine"), fmt::format("'{}' is not an engine of this command", engine), "mpi");
}

namespace {

// Parallelism options with flags of their own, listed in the help of every command.
struct ParallelFlag {
  const char *option, *flag, *about;
  OptionValue value;
  bool several = true;  // takes a list in commands that combine values
};
constexpr ParallelFlag parallel_flags[] = {
    {"pp", "--pp", "ranks of a pipeline (1)", {"P"}},
    {"tp", "--tp", "workers of a tensor-parallel group (1, or the profile's); the profile is one worker's", {"T"}},
    {"cp", "--cp", "workers of a context-parallel group (1, or the profile's)", {"C"}},
    {"ep", "--ep", "workers of an expert-parallel group (1)", {"E"}},
    {"schedule",
     "--schedule",
     "schedule of the pipeline (1f1b): a name from `allreplay list schedules`, or PyTorch's file",
     {"SCHEDULE", "schedules", true}},
    {"chunks", "--chunks", "chunks of the model on each pipeline rank (the schedule's)", {"V"}},
    {"stages",
     "--stages",
     "how layers are cut into chunks (balanced): equal, or 3,4,3",
     {.name = "CUT", .choices = "balanced,equal"},
     false},
    {"accumulate", "--micro-batches", "the same as --accumulate", {"M"}},
    {"global_batch",
     "--global-batch",
     "samples of an iteration, of all workers; sets the number of micro-batches",
     {"B"},
     false},
};

std::int64_t one_number_of_workers(const std::string& text) {
  if (text.find_first_of(":,") != std::string::npos)
    throw InputError(argument("--workers"), fmt::format("'{}' is not one number", text),
                     "one number; `compare` and `recommend` take 8,16 and 8:64:x2, a sweep file a list");
  return parse_integer(text, 1, most_workers, argument("--workers"));
}

}  // namespace

std::vector<ChangeText> words_of_cluster(const ClusterWordArguments& arguments) {
  std::vector<ChangeText> words;
  for (const ClusterWordRow& row : cluster_word_rows())
    if (const auto given = arguments.find(row.name); given != arguments.end() && !given->second.empty())
      words.push_back({given->first, given->second, argument("--" + given->first)});
  return words;
}

std::vector<std::string> worker_counts(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {text};
  const SourceLocation place = argument("--workers");
  const std::size_t second = text.find(':', colon + 1);
  const std::string step = second == std::string::npos ? "x2" : text.substr(second + 1);
  const auto low = parse_integer(text.substr(0, colon), 1, most_workers, place);
  const auto high = parse_integer(text.substr(colon + 1, second == std::string::npos ? second : second - colon - 1), 1,
                                  most_workers, place);
  if (low > high)
    throw InputError(place, fmt::format("{} is reversed", text), fmt::format("{}:{}:{}", high, low, step));
  if (step.empty() || (step[0] != 'x' && step[0] != '+'))
    throw InputError(place, fmt::format("'{}' is not a valid step", step), "x2 doubles, +8 adds 8");
  const auto by = parse_integer(step.substr(1), step[0] == 'x' ? 2 : 1, most_workers, place);
  std::vector<std::string> counts;
  for (std::int64_t count = low; count <= high; count = step[0] == 'x' ? count * by : count + by) {
    if (counts.size() == 1000)
      throw InputError(place, fmt::format("{} is more than 1000 sizes", text), "a larger step");
    counts.push_back(std::to_string(count));
  }
  return counts;
}

std::vector<std::string> split_list(const Files& files, const std::vector<std::string>& given,
                                    const std::string& option, std::string_view folder) {
  std::vector<std::string> all;
  for (const std::string& text : given) {
    if (!folder.empty() && !file_behind(files, folder, text).empty()) {
      all.push_back(text);
      continue;
    }
    for (std::size_t start = 0; start <= text.size();) {
      const std::size_t end = std::min(text.find(',', start), text.size());
      all.emplace_back(trim(std::string_view(text).substr(start, end - start)));
      if (all.back().empty() && !text.empty())
        throw InputError(argument(option), fmt::format("'{}' has an empty item", text), "a,b");
      start = end + 1;
    }
  }
  return all;
}

namespace {

// Rejects what only an estimate uses where there is a profile.
void require_model(const ScenarioArguments& arguments) {
  if (!arguments.model.empty()) return;
  for (const auto& [given, flag] : {std::pair(!arguments.device.empty(), "--device"),
                                    {!arguments.tokens.empty(), "--seq"},
                                    {arguments.sequence_parallel, "--sequence-parallel"}})
    if (given) throw InputError(argument(flag), "needs --model", "--model NAME, whose profiles are estimated");
}

}  // namespace

Request ScenarioArguments::request(const std::string& strategy, const std::string& plan) const {
  Request request;
  request.plan = plan;
  request.profile = profile;
  request.model = model;
  request.device = device;
  request.tokens = tokens;
  request.sequence_parallel = sequence_parallel;
  require_model(*this);
  request.cluster = cluster;
  request.cluster_words = words_of_cluster(cluster_words);
  request.strategy = strategy;
  request.collective = collective;
  request.fidelity = fidelity;
  request.codec = codec;
  request.reuse = !no_reuse;
  if (!workers.empty()) request.workers = one_number_of_workers(workers);
  if (!forward_ratio.empty()) request.forward_ratio = parse_number(forward_ratio, argument("--forward-ratio"));
  request.place_of_profile = argument("--profile");
  request.place_of_ratio = argument("--forward-ratio");
  request.place_of_workers = argument("--workers");
  request.place_of_strategy = argument("--strategy");
  request.place_of_collective = argument("--collective");
  request.place_of_fidelity = argument("--fidelity");
  request.place_of_codec = argument("--codec");
  for (const std::string& option : options) {
    const bool flag = option.starts_with("--");  // --bucket-cap=10MiB, given as a flag
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos)
      throw InputError(argument("--option"), fmt::format("'{}' has no value", option),
                       "key=value, such as bucket_cap=\"25 MiB\"");
    const std::string given = option.substr(0, equals), name = flag ? option_of(given) : given;
    request.options.push_back({name, option.substr(equals + 1), argument(flag ? given : "--option " + name)});
  }
  const std::pair<const char*, const std::string*> flags[] = {
      {"accumulate", &accumulate}, {"zero", &zero}, {"shard_group", &shard_group}, {"memory", &memory}};
  for (const auto& [name, value] : flags) {
    if (!value->empty()) request.options.push_back({name, *value, argument(flag_of(name))});
  }
  for (const ParallelFlag& one : parallel_flags)
    if (const auto given = parallel.find(one.flag); given != parallel.end() && !given->second.empty())
      request.options.push_back({one.option, given->second, argument(one.flag)});
  if (const auto given = parallel.find("--micro-batches");
      given != parallel.end() && !given->second.empty() && !accumulate.empty())
    throw InputError(argument("--micro-batches"), "is the same option as --accumulate", "one of them");
  request.changes = changes_of(changes);
  return request;
}

namespace {

bool is_idle(const std::string& option, const Outcome& outcome) {
  const auto steps = step_options();
  const std::vector<std::string_view>& own = outcome.scenario.strategy->options;
  // options_in_effect() omits options whose default has no text, even if the strategy reads them.
  const bool default_text =
      outcome.scenario.options.get(option).empty() && std::find(own.begin(), own.end(), option) != own.end();
  if (default_text || option == "sharing" || std::find(steps.begin(), steps.end(), option) != steps.end()) return false;
  const NamedValues used = options_in_effect(outcome.scenario);
  return std::none_of(used.begin(), used.end(), [&](const auto& one) { return one.first == option; });
}

// True for a pipeline option if the scenario has no pipeline.
bool lacks_pipeline(const std::string& option, const Outcome& outcome) {
  const Options& options = outcome.scenario.options;
  if (options.parallel.pipeline() || options.places.contains("pp")) return false;
  return is_pipeline_option(option) || (option == "chunks" && is_idle(option, outcome));
}

}  // namespace

void warn_of_idle_options(Console& console, const ScenarioArguments& arguments, std::span<const Outcome> outcomes) {
  const auto all = [&](const std::string& option, bool (*holds)(const std::string&, const Outcome&)) {
    return std::all_of(outcomes.begin(), outcomes.end(), [&](const Outcome& one) { return holds(option, one); });
  };
  for (const OptionText& option : arguments.request("").options)
    if (all(option.name, lacks_pipeline))
      console.warn(fmt::format("{} has no effect without --pp", option.name));
    else if (all(option.name, is_idle) && outcomes.size() > 1)
      console.warn(
          fmt::format("{} has no effect: none of the {} that are compared uses it", option.name, outcomes.size()));
    else if (all(option.name, is_idle))
      console.warn(fmt::format("{} has no effect: {} on {} does not use it", option.name,
                               outcomes.front().scenario.strategy->name, outcomes.front().result.collective));
}

void add_change_options(Command command, ChangeArguments& arguments, std::initializer_list<Changed> kinds) {
  for (const ChangeRow& row : change_rows()) {
    if (std::find(kinds.begin(), kinds.end(), row.changed) == kinds.end()) continue;
    command
        .add_option(fmt::format("--{}", row.name), arguments[std::string(row.name)],
                    {.name = row.value, .words = row.words}, std::string(row.about))
        .allow_extra_args(false)
        .group("Override what the files say");
  }
}

std::vector<ChangeText> changes_of(const ChangeArguments& arguments) {
  std::vector<ChangeText> changes;
  for (const auto& [name, values] : arguments)
    for (const std::string& value : values) changes.push_back({name, value, argument("--" + name)});
  return changes;
}

namespace {

// Parses a share, such as 0.02 or 2%.
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

}  // namespace

WinningRule WinningArguments::rule() const {
  const double share = parse_share(tie, "--tie", "0.02 or 2%");
  if (!now.empty()) find_strategy(now, argument("--now"));
  WinningRule rule{share, now, parse_share(headroom, "--headroom", "0.1 or 10%")};
  if (doubt == "none") return rule;
  rule.doubt = parse_share(doubt, "--doubt", "0.5, 50% or none");
  if (*rule.doubt <= 0) throw InputError(argument("--doubt"), "leaves no bandwidth", "0.5, 50% or none");
  return rule;
}

void add_doubt_option(Command command, WinningArguments& arguments) {
  arguments.doubt = "0.5";
  command
      .add_option(
          "--doubt", arguments.doubt, {"SHARE|none"},
          "part of the bandwidth between nodes with which the winner, what ties with it and the best of another "
          "kind are replayed; of ties what loses least there wins, and the verdict says if another one does")
      .capture_default_str();
}

void add_winning_options(Command command, WinningArguments& arguments) {
  command
      .add_option("--tie", arguments.tie, {"SHARE"},
                  "rows within this share of the fastest tie, and the simplest to run wins: what runs now, then a "
                  "framework's default, then the fewest options changed; if less than 20 % of the memory is free, "
                  "memory decides first")
      .capture_default_str();
  command.add_option("--now", arguments.now, values::strategy, "the strategy that you run now, which wins ties");
  command
      .add_option("--headroom", arguments.headroom, {"SHARE"},
                  "the share of a worker's memory that the winner leaves free, for what is not simulated: fragments of "
                  "the allocator, buffers of NCCL and cuBLAS, temporary tensors")
      .capture_default_str();
}

void add_strategy_or_plan(Command command, std::string& strategy, std::string& plan) {
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

void require_separate(const Files& files, const std::vector<Output>& outputs, const std::vector<std::string>& inputs) {
  std::set<std::string> read;
  for (const std::string& input : inputs) read.insert(files.identity(input));
  std::map<std::string, std::string> written;  // option by file
  for (const auto& [option, file, is_compressed] : outputs) {
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
    if (!output.file.empty()) files.require_writable(output.file);
}

void write_own(const Files& files, const Output& output, const std::string& text, std::string_view mark, bool force) {
  if (!force && std::filesystem::is_regular_file(output.file) && !files.was_read(output.file)) {
    std::ifstream there(output.file, std::ios::binary);
    const std::string before{std::istreambuf_iterator<char>(there), {}};
    if (!before.empty() && before.find(mark) == std::string::npos)
      throw InputError(argument(output.option), fmt::format("'{}' exists, and is not such a file", output.file),
                       "another name, or --force to replace it");
  }
  files.write(output.file, text);
}

std::uint64_t parse_seed(const std::string& text) {
  return static_cast<std::uint64_t>(
      parse_integer(text, 0, std::numeric_limits<std::int64_t>::max(), argument("--seed")));
}

double positive_number(const std::string& text, const std::string& option) {
  const double value = parse_number(text, argument(option));
  if (!(value > 0)) throw InputError(argument(option), fmt::format("{} is not above 0", text), "a positive number");
  return value;
}

std::string file_behind(const Files& files, std::string_view folder, const std::string& name) {
  return files.locate_data(folder, name).value_or("");
}

std::vector<std::string> ScenarioArguments::files(const Files& files, std::vector<std::string> more) const {
  for (const auto& [folder, name] : {std::pair("traces", profile),
                                     {"models/transformers", model},
                                     {"models/devices", device},
                                     {"topologies", cluster},
                                     {"models/codecs", codec}})
    more.push_back(file_behind(files, folder, name));
  return more;
}

bool ScenarioArguments::has_cluster() const { return !cluster.empty() || !words_of_cluster(cluster_words).empty(); }

namespace {

constexpr const char* help_on_cluster =
    "a cluster file, or a name from `allreplay list clusters`; or use the flags below";

void add_cluster_words(Command command, Option named, ClusterWordArguments& words) {
  for (const ClusterWordRow& row : cluster_word_rows())
    named.unless(command
                     .add_option(fmt::format("--{}", row.name), words[std::string(row.name)], {row.value},
                                 std::string(row.about))
                     .excludes(named)
                     .group("Describe the cluster by flags, instead of --cluster"));
}

}  // namespace

void add_cluster_options(Command command, std::string& cluster, ClusterWordArguments& words) {
  add_cluster_words(command, command.add_option("-c,--cluster", cluster, values::cluster, help_on_cluster).required(),
                    words);
}

namespace {

Option add_parallel_flag(Command command, const ParallelFlag& one, ScenarioArguments& arguments,
                         SeveralArguments* several) {
  if (!several || !one.several) return command.add_option(one.flag, arguments.parallel[one.flag], one.value, one.about);
  return command.add_option(one.flag, several->parallel[one.flag], one.value, one.about).several();
}

}  // namespace

std::vector<std::vector<OptionText>> several_options(const Files& files, const SeveralArguments& several) {
  std::vector<std::vector<OptionText>> options;
  for (const ParallelFlag& one : parallel_flags) {
    const auto given = several.parallel.find(one.flag);
    if (given == several.parallel.end() || given->second.empty()) continue;
    options.emplace_back();
    for (const std::string& value : split_list(files, given->second, one.flag))
      options.back().push_back({one.option, value, argument(one.flag)});
  }
  if (const auto groups = split_list(files, several.shard_groups, "--shard-group"); !groups.empty()) {
    options.emplace_back();
    for (const std::string& value : groups) options.back().push_back({"shard_group", value, argument("--shard-group")});
  }
  return options;
}

Option add_setting_options(Command command, ScenarioArguments& arguments, std::initializer_list<Changed> changes,
                           SeveralArguments* several) {
  const auto add = [&](const char* names, std::string& one, std::vector<std::string> SeveralArguments::*list,
                       const OptionValue& value, const std::string& help) {
    return several ? command.add_option(names, several->*list, value, help).several()
                   : command.add_option(names, one, value, help);
  };
  const Option cluster =
      add("-c,--cluster", arguments.cluster, &SeveralArguments::clusters, values::cluster, help_on_cluster);
  add_cluster_words(command, cluster, arguments.cluster_words);
  add("-n,--workers", arguments.workers, &SeveralArguments::workers, values::number,
      "number of workers (the cluster file's)");
  add("--collective", arguments.collective, &SeveralArguments::collectives, {"COLLECTIVE", "collectives"},
      "all-reduce algorithm (the cluster file's); see `allreplay list collectives`");
  add("--fidelity", arguments.fidelity, &SeveralArguments::fidelities,
      {.name = "FIDELITY", .words = [] { return names_of(fidelities); }},
      "how communication is priced (the cluster file's): " + choices(names_of(fidelities)));
  add("--codec", arguments.codec, &SeveralArguments::codecs, values::codec,
      "compress gradients (none); a name from `allreplay list codecs`, or a file");
  command.add_option("--accumulate", arguments.accumulate, values::number, "micro-batches of an iteration (1)");
  command.add_option("--zero", arguments.zero, {.name = "STAGE", .choices = "0,1,2,3"},
                     "ZeRO's stage under a plan of blocks: 1 or 2 (0); 3 with best");
  for (const ParallelFlag& one : parallel_flags)
    add_parallel_flag(command, one, arguments, several)
        .group("Other parallelism; N / (pp x tp x cp) is the data-parallel degree");
  add("--shard-group", arguments.shard_group, &SeveralArguments::shard_groups, values::number,
      "shard among this many consecutive workers (0: all)");
  command.add_option("--memory", arguments.memory, values::size,
                     "memory of a worker, such as 80GB; settings that need more are marked (the device's, if the "
                     "profile has activations)");
  command.add_flag("--no-reuse", arguments.no_reuse,
                   "fluid, message: simulate every collective, even one that repeats an earlier one that ran alone");
  add_change_options(command, arguments.changes, changes);
  command
      .add_option("-o,--option", arguments.options, {"KEY=VALUE", "options"},
                  "key=value, any number of times: an option of the strategy, the collective or the codec; `allreplay "
                  "help NAME` explains them. Each is also a flag: --bucket-cap 10MiB")
      .allow_extra_args(false);
  return cluster;
}

Option add_scenario_options(Command command, ScenarioArguments& arguments, SeveralArguments* several) {
  Option profile =
      command.add_option("-p,--profile", arguments.profile, values::profile,
                         "layer-wise times: a profile (JSON or CSV), or a name from `allreplay list profiles`");
  profile.required();
  add_setting_options(command, arguments, every_change, several).required();
  command.add_option("--forward-ratio", arguments.forward_ratio, values::ratio,
                     "set every layer's forward time to this multiple of its backward time");
  return profile;
}

void add_model_options(Command command, Option profile, ScenarioArguments& arguments) {
  const auto add = [](Option option) { option.group("Estimate the profile, instead of --profile"); };
  const Option model = command.add_option("--model", arguments.model, values::model,
                                          "a model, a file of one, or a config.json; needs --device and --batch");
  profile.unless(model);
  add(model);
  add(command.add_option("--device", arguments.device, values::device, "a device, or a file of one"));
  add(command.add_option("--seq", arguments.tokens, values::number, "tokens of a sample (the model's positions)"));
  add(command.add_flag("--sequence-parallel", arguments.sequence_parallel,
                       "tensor groups also split the tokens where they split no product (Megatron-LM)"));
  command.get_option("--recompute").takes({.name = "RULE", .words = [] { return names_of(recompute_rules); }});
}

}  // namespace allreplay
