// The options that make up a scenario: its profile, cluster, workers, parallelism and changes.
#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/inputs/estimate/estimate.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/programs/command/help.hpp"
#include "sim/replay/network/fidelity.hpp"
#include "sim/replay/training/sharding.hpp"
#include "sim/studies/experiment/cluster_words.hpp"

namespace allreplay {

namespace {

// Options with flags of their own, listed in the help of every command.
struct OptionFlag {
  const char *option, *flag, *about;
  OptionValue value;
  bool is_list = true;  // in commands that combine values
  bool is_parallel = true;
};
constexpr OptionFlag option_flags[] = {
    {"accumulate", "--accumulate", "micro-batches of an iteration (1)", values::number, false, false},
    {"zero",
     "--zero",
     "ZeRO's stage under a plan of blocks: 1 or 2 (0); 3 with best",
     {.name = "STAGE", .choices = "0,1,2,3"},
     false,
     false},
    {"shard_group", "--shard-group", "shard among this many consecutive workers (0: all)", values::number, true, false},
    {"memory", "--memory",
     "memory of a worker, such as 80GB; settings that need more are marked (the device's, if the profile has "
     "activations)",
     values::size, false, false},
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

std::vector<std::string> worker_counts(const std::string& text, const std::string& option) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {text};
  const SourceLocation place = argument(option);
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
      if (std::find(all.begin(), all.end() - 1, all.back()) != all.end() - 1) all.pop_back();  // once is enough
      start = end + 1;
    }
  }
  return all;
}

namespace {

// Rejects options that only an estimate uses if a profile is given.
void require_model(const ScenarioArguments& arguments) {
  if (!arguments.model.empty()) return;
  for (const auto& [given, flag] : {std::pair(!arguments.device.empty(), "--device"),
                                    {!arguments.tokens.empty(), "--seq"},
                                    {arguments.sequence_parallel, "--sequence-parallel"}})
    if (given) throw InputError(argument(flag), "needs --model", "--model NAME, whose profiles are estimated");
}

}  // namespace

Request ScenarioArguments::request(const std::string& strategy, const std::string& plan) const {
  require_model(*this);
  Request request{.profile = {profile, argument("--profile")},
                  .model = model,
                  .device = device,
                  .tokens = tokens,
                  .sequence_parallel = sequence_parallel,
                  .cluster = cluster,
                  .cluster_words = words_of_cluster(cluster_words),
                  .collective = {collective, argument("--collective")},
                  .fidelity = {fidelity, argument("--fidelity")},
                  .codec = {codec, argument("--codec")},
                  .strategy = {strategy, argument("--strategy")},
                  .plan = plan,
                  .seeds = seeds_in(seeds),
                  .changes = changes_of(changes),
                  .reuse = !no_reuse};
  request.forward_ratio.place = argument("--forward-ratio");
  if (!forward_ratio.empty()) request.forward_ratio = parse_number(forward_ratio, argument("--forward-ratio"));
  request.workers.place = argument("--workers");
  if (!workers.empty()) request.workers = one_number_of_workers(workers);
  for (const std::string& option : options) {
    const bool flag = option.starts_with("--");  // --bucket-cap=10MiB, given as a flag
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos)
      throw InputError(argument("--option"), fmt::format("'{}' has no value", option),
                       "key=value, such as bucket_cap=\"25 MiB\"");
    const std::string given = option.substr(0, equals), name = flag ? option_of(given) : given;
    request.options.push_back({name, option.substr(equals + 1), argument(flag ? given : "--option " + name)});
  }
  for (const OptionFlag& one : option_flags)
    if (std::string value = flag(one.flag); !value.empty())
      request.options.push_back({one.option, std::move(value), argument(one.flag)});
  if (!flag("--micro-batches").empty() && !flag("--accumulate").empty())
    throw InputError(argument("--micro-batches"), "is the same option as --accumulate", "one of them");
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

void add_change_options(Command& command, ChangeArguments& arguments, std::initializer_list<Changed> kinds) {
  for (const ChangeRow& row : change_rows()) {
    if (std::find(kinds.begin(), kinds.end(), row.changed) == kinds.end()) continue;
    command
        .add_option(fmt::format("--{}", row.name), arguments[std::string(row.name)],
                    {.name = row.value, .words = row.words}, std::string(row.about))
        .group("Override what the files say");
  }
}

std::vector<ChangeText> changes_of(const ChangeArguments& arguments) {
  std::vector<ChangeText> changes;
  for (const auto& [name, values] : arguments)
    for (const std::string& value : values) changes.push_back({name, value, argument("--" + name)});
  return changes;
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

std::string ScenarioArguments::flag(std::string_view name) const {
  const auto given = flags.find(name);
  return given == flags.end() ? "" : given->second;
}

bool ScenarioArguments::has_cluster() const { return !cluster.empty() || !words_of_cluster(cluster_words).empty(); }

namespace {

constexpr const char* help_on_cluster =
    "a cluster file, or a name from `allreplay list clusters`; or use the flags below";

void add_cluster_words(Command& command, Option& named, ClusterWordArguments& words) {
  for (const ClusterWordRow& row : cluster_word_rows())
    named.unless(command
                     .add_option(fmt::format("--{}", row.name), words[std::string(row.name)], {row.value},
                                 std::string(row.about))
                     .excludes(named)
                     .group("Describe the cluster by flags, instead of --cluster"));
}

}  // namespace

void add_cluster_options(Command& command, std::string& cluster, ClusterWordArguments& words) {
  add_cluster_words(command, command.add_option("-c,--cluster", cluster, values::cluster, help_on_cluster).required(),
                    words);
}

void add_cluster_options(Command& command, std::vector<std::string>& clusters, ClusterWordArguments& words) {
  Option& named = command.add_option("-c,--cluster", clusters, values::cluster, help_on_cluster).several().required();
  add_cluster_words(command, named, words);
}

std::vector<std::vector<OptionText>> several_options(const Files& files, const SeveralArguments& several) {
  std::vector<std::vector<OptionText>> options;
  for (const bool is_parallel : {true, false})  // the last option varies fastest
    for (const OptionFlag& one : option_flags) {
      const auto given = several.flags.find(one.flag);
      if (one.is_parallel != is_parallel || given == several.flags.end() || given->second.empty()) continue;
      options.emplace_back();
      for (const std::string& value : split_list(files, given->second, one.flag))
        options.back().push_back({one.option, value, argument(one.flag)});
    }
  return options;
}

void refuse_lists(const std::vector<OptionText>& options) {
  for (const OptionText& one : options)
    for (const OptionFlag& row : option_flags)
      if (row.is_list && row.option == one.name && one.value.find(',') != std::string::npos)
        throw InputError(one.place, fmt::format("'{}' is a list, but an option has one value", one.value),
                         fmt::format("{} {}, which compares them", row.flag, one.value));
}

Option& add_setting_options(Command& command, ScenarioArguments& arguments, std::initializer_list<Changed> changes,
                            SeveralArguments* several) {
  const auto add = [&](const char* names, std::string& one, std::vector<std::string> SeveralArguments::*list,
                       const OptionValue& value, const std::string& help) -> Option& {
    return several ? command.add_option(names, several->*list, value, help).several()
                   : command.add_option(names, one, value, help);
  };
  Option& cluster =
      add("-c,--cluster", arguments.cluster, &SeveralArguments::clusters, values::cluster, help_on_cluster);
  add_cluster_words(command, cluster, arguments.cluster_words);
  add("-n,--workers", arguments.workers, &SeveralArguments::workers, values::number,
      "number of workers (the cluster file's)");
  add("--collective", arguments.collective, &SeveralArguments::collectives, {"COLLECTIVE", "collectives"},
      "all-reduce algorithm (the cluster file's); see `allreplay list collectives`");
  add("--fidelity", arguments.fidelity, &SeveralArguments::fidelities,
      one_of("FIDELITY", [] { return names_of(fidelities); }),
      "how communication is priced (the cluster file's): " + choices(names_of(fidelities)));
  add("--codec", arguments.codec, &SeveralArguments::codecs, values::codec,
      "compress gradients (none); a name from `allreplay list codecs`, or a file");
  for (const OptionFlag& one : option_flags)
    (several && one.is_list ? command.add_option(one.flag, several->flags[one.flag], one.value, one.about).several()
                            : command.add_option(one.flag, arguments.flags[one.flag], one.value, one.about))
        .group(one.is_parallel ? "Other parallelism; N / (pp x tp x cp) is the data-parallel degree" : "");
  command.add_flag("--no-reuse", arguments.no_reuse,
                   "fluid, message: simulate every collective, even one that repeats an earlier one that ran alone");
  add_change_options(command, arguments.changes, changes);
  command.add_option(
      "-o,--option", arguments.options, {"KEY=VALUE", "options"},
      "key=value, any number of times: an option of the strategy, the collective or the codec; `allreplay "
      "help NAME` explains them. Each is also a flag: --bucket-cap 10MiB");
  return cluster;
}

Option& add_scenario_options(Command& command, ScenarioArguments& arguments, SeveralArguments* several) {
  Option& profile =
      command.add_option("-p,--profile", arguments.profile, values::profile,
                         "layer-wise times: a profile (JSON or CSV), or a name from `allreplay list profiles`");
  profile.required();
  add_setting_options(command, arguments, every_change, several).required();
  command.add_option("--forward-ratio", arguments.forward_ratio, values::ratio,
                     "set every layer's forward time to this multiple of its backward time");
  return profile;
}

void add_model_options(Command& command, Option& profile, ScenarioArguments& arguments) {
  const auto add = [](Option& option) { option.group("Estimate the profile, instead of --profile"); };
  Option& model = command.add_option("--model", arguments.model, values::model,
                                     "a model, a file of one, or a config.json; needs --device and --batch");
  profile.unless(model);
  add(model);
  add(command.add_option("--device", arguments.device, values::device, "a device, or a file of one"));
  add(command.add_option("--seq", arguments.tokens, values::number, "tokens of a sample (the model's positions)"));
  add(command.add_flag("--sequence-parallel", arguments.sequence_parallel,
                       "tensor groups also split the tokens where they split no product (Megatron-LM)"));
  command.get_option("--recompute").takes(one_of("RULE", [] { return names_of(recompute_rules); }));
}

}  // namespace allreplay
