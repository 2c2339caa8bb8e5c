#include "sim/programs/command/config_words.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/name.hpp"
#include "sim/base/core/text.hpp"
#include "sim/formats/configs/config_file.hpp"
#include "sim/inputs/workload/profile_file.hpp"
#include "sim/output/report/phrases.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/programs/command/help.hpp"
#include "sim/replay/training/collective_choice.hpp"
#include "sim/studies/experiment/estimated_profile.hpp"

namespace allreplay {

namespace {

// Flags whose values a profile already has.
constexpr std::string_view profile_flags[] = {"--model",     "--device",    "--seq",  "--sequence-parallel",
                                              "--precision", "--recompute", "--batch"};
// Flags that `recommend` finds itself.
constexpr std::string_view layout_flags[] = {"--pp",
                                             "--tp",
                                             "--cp",
                                             "--ep",
                                             "--chunks",
                                             "--stages",
                                             "--p2p",
                                             "--schedule",
                                             "--batch",
                                             "--recompute",
                                             "--sequence-parallel",
                                             "--micro-batches",
                                             "--microbatch-group",
                                             "--shard-group",
                                             "--ep-overlap"};

bool is_among(std::string_view flag, std::span<const std::string_view> flags) {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

// The options of a command, and the flags that its words give.
class GivenFlags {
 public:
  explicit GivenFlags(const Command& command) : command_(command) {}

  // The longest name of an option, under which all its names are known; "" if the command has none of this name.
  std::string canonical(const std::string& name) const {
    if (name == "--accumulate") return "--micro-batches";
    if (const Option* option = command_.find(name)) return option->longest_name();
    const bool may_be_row = command_.find("--option") && name.starts_with("--");
    const OptionRow* row = may_be_row ? option_named(option_of(name)) : nullptr;
    return row ? flag_of(row->name) : "";
  }

  bool takes_value(const std::string& flag) const {
    const Option* option = command_.find(flag);
    return !option || !option->is_flag();
  }

  // Calls `visit(flag, value, first, end)` for each flag, which words from `first` to before `end` give.
  template <class Visit>
  void visit(const std::vector<std::string>& words, const Visit& visit) const {
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word.size() < 2 || word[0] != '-') continue;
      const bool is_long = word[1] == '-';
      const std::size_t equals = is_long ? word.find('=') : word.size() > 2 ? 2 : std::string::npos, first = i;
      const std::string flag = canonical(word.substr(0, equals));
      if (flag.empty()) continue;
      std::string value = equals == std::string::npos ? "" : word.substr(equals + (is_long ? 1 : 0));
      if (equals == std::string::npos && takes_value(flag) && i + 1 < words.size()) value = words[++i];
      visit(flag, value, first, i + 1);
    }
  }

  void read(const std::vector<std::string>& words) {
    visit(words, [&](const std::string& flag, const std::string& value, auto...) { add(flag, value); });
  }

  std::map<std::string, std::string, std::less<>> values;

 private:
  void add(const std::string& flag, const std::string& value) {
    values[flag] = value;
    const std::size_t equals = value.find('=');
    if (flag != "--option" || equals == std::string::npos) return;
    const std::string name = value.substr(0, equals);
    const std::string option_flag = canonical(name.starts_with("--") ? name : flag_of(name));
    if (!option_flag.empty()) values[option_flag] = value.substr(equals + 1);
  }

  const Command& command_;
};

// Takes the blocks of a profile: all units except the first and the last.
void take_blocks(ConfigFacts& facts, const std::vector<std::string>& groups) {
  std::vector<std::int64_t> begins;
  for (std::size_t l = 0; l < groups.size(); ++l)
    if (l == 0 || groups[l] != groups[l - 1]) begins.push_back(static_cast<std::int64_t>(l));
  if (begins.size() < 3 || groups.front().empty()) return;
  facts.blocks.assign(begins.begin() + 1, begins.end() - 1);
  facts.layers = std::ssize(groups);
}

// Takes the facts of the profile, or of the model and its device. Errors in these are reported when they are used.
void take_profile_or_model(ConfigFacts& facts, const Files& files) try {
  const auto given = [&](std::string_view flag) {
    const auto found = facts.given.find(flag);
    return found == facts.given.end() ? std::string() : found->second;
  };
  if (const std::string name = given("--profile"); !name.empty()) {
    const Profile profile = read_profile(files, name);
    facts.precision = profile.precision;
    if (!profile.tensors.empty()) facts.gradient_bytes = profile.bytes() / profile.elements();
    std::vector<std::string> groups;
    for (const Layer& layer : profile.layers) groups.push_back(layer.group);
    take_blocks(facts, groups);
    return;
  }
  facts.precision = given("--precision");
  if (facts.precision.empty() && !given("--device").empty())
    facts.precision = usual_precision(read_device(files, given("--device")));
  facts.gradient_bytes = element_bytes(facts.precision).value_or(0);
  if (given("--model").empty()) return;
  const auto model = read_named_model(files, file_of_model(files, given("--model"), argument("--model")));
  const auto* transformer = std::get_if<Transformer>(&model);
  if (!transformer) return;
  facts.hidden = transformer->hidden;
  std::vector<std::string> groups;
  for (const ComputationLayer& layer : build(*transformer, 1, argument("--seq")).layers) groups.push_back(layer.group);
  take_blocks(facts, groups);
} catch (const InputError&) {
}

// Takes the workers of the cluster and of its nodes.
void take_cluster(ConfigFacts& facts, const Inputs& inputs) try {
  std::int64_t workers = facts.number("--nodes", 0) * facts.number("--gpus", 0);
  facts.node = facts.number("--gpus", 0);
  if (const auto name = facts.given.find("--cluster"); name != facts.given.end()) {
    const Cluster cluster = Library(inputs).cluster_named(name->second);
    workers = cluster.workers;
    facts.node = gpus_of_a_host(cluster.network);
  }
  if (workers > 0) facts.given.try_emplace("--workers", std::to_string(workers));
} catch (const InputError&) {
}

// Merges the configurations under the given words.
class Merge {
 public:
  Merge(const Command& command, std::vector<std::string> words, Context& context)
      : command_(command.name), context_(context), given_(command) {
    given_.read(words);
    result_.words = std::move(words);
  }

  ConfiguredWords result(const std::vector<std::string>& files) {
    read_parts(files);
    facts_.given = given_.values;
    facts_.finds_layout = command_ == "recommend";
    for (const Part& part : parts_)
      for (const ConfigSetting& one : part.config.settings)
        if (one.flag == "--strategy") strategy_ = one.value;
    if (command_ == "recommend") set_own_run(files);
    for (Part& part : parts_)
      for (const ConfigSetting& setting : part.config.settings) take(part, setting);
    if (const auto model = facts_.given.find("--model"); model != facts_.given.end())
      result_.models = add_model_of_arguments({"--model", model->second}, context_);
    take_profile_or_model(facts_, context_.files());
    take_cluster(facts_, context_.inputs);
    for (Part& part : parts_)
      for (const auto& settings : part.config.later)
        for (const ConfigSetting& setting : settings(facts_)) take(part, setting);
    if (command_ == "recommend") take_samples();
    std::vector<std::string> words;
    for (const Part& part : parts_)
      for (const ConfigSetting& one : part.taken) {
        words.push_back(one.flag);
        if (given_.takes_value(one.flag)) words.push_back(one.value);
      }
    result_.words.insert(result_.words.begin() + 1, words.begin(), words.end());
    for (Part& part : parts_) tell(part);
    return std::move(result_);
  }

 private:
  // Leaves out files that others include, and what files assume although others say it.
  void read_parts(const std::vector<std::string>& files) {
    for (const std::string& file : files) parts_.push_back({read_config(context_.files(), file, files), {}, {}, {}});
    std::erase_if(parts_, [&, all = parts_](const Part& part) {
      return std::any_of(all.begin(), all.end(),
                         [&](const Part& other) { return other.config.included == part.config.file; });
    });
    const auto names_strategy = [](const Part& part) {
      return std::any_of(part.config.settings.begin(), part.config.settings.end(),
                         [](const ConfigSetting& one) { return one.flag == "--strategy" && !one.is_assumed; });
    };
    if (std::none_of(parts_.begin(), parts_.end(), names_strategy)) return;
    for (Part& part : parts_)
      std::erase_if(part.config.settings, [](const ConfigSetting& one) { return one.is_assumed; });
  }

  // A configuration with its settings, sorted by their treatment.
  struct Part {
    ConfigFile config;
    std::vector<ConfigSetting> taken, left_out;
    std::vector<std::string> overridden;
  };

  // True if only some strategies read the option.
  static bool is_strategy_option(const std::string& flag) {
    const OptionRow* row = option_named(option_of(flag));
    return row && row->reader.empty() && !is_among(flag, layout_flags) && row->kind != OptionKind::Schedule;
  }

  // True if the command finds the value itself, or another flag rules it out.
  bool is_left_out(const ConfigSetting& setting) const {
    const bool has_profile = given_.values.contains("--profile");
    if (has_profile && is_among(setting.flag, profile_flags)) return true;
    if (command_ == "recommend" && is_among(setting.flag, layout_flags))
      return !(has_profile && setting.flag == "--micro-batches");
    if (!is_strategy_option(setting.flag)) return false;
    if (command_ == "recommend" || given_.values.contains("--plan")) return true;
    const auto other = given_.values.find(command_ == "compare" ? "--strategies" : "--strategy");
    if (other == given_.values.end()) return false;
    const std::vector<std::string> names = names_in({other->second}, argument(other->first));
    return std::find(names.begin(), names.end(), strategy_) == names.end() && names != std::vector<std::string>{"all"};
  }

  void take(Part& part, ConfigSetting setting) {
    if (setting.flag == "--strategy" && (command_ == "compare" || command_ == "recommend")) setting.flag = "--now";
    const std::string flag = given_.canonical(setting.flag);
    if (flag.empty() || is_left_out(setting)) return part.left_out.push_back(std::move(setting));
    if (given_.values.contains(flag) || (flag == "--strategy" && given_.values.contains("--plan"))) {
      if (given_.values[flag] != setting.value) part.overridden.push_back(flag);
      return;
    }
    setting.flag = flag;
    const auto [known, is_new] = result_.places.try_emplace(flag, setting.place);
    if (is_new) {
      facts_.given[flag] = setting.value;
      part.taken.push_back(std::move(setting));
    } else if (facts_.given[flag] != setting.value && known->second.file != setting.place.file) {
      throw InputError(
          setting.place,
          fmt::format("{} is {}, but {} in {}", flag, setting.value, facts_.given[flag], known->second.file),
          fmt::format("{} on the command line, or in one of them", flag));
    }
  }

  // `recommend` needs the samples of an iteration, which are the same for all layouts.
  void take_samples() {
    if (!facts_.given.contains("--model") || facts_.given.contains("--global-batch")) return;
    ConfigFacts layout;
    SourceLocation place;
    for (const Part& part : parts_)
      for (const ConfigSetting& one : part.left_out) {
        layout.given[one.flag] = one.value;
        if (one.flag == "--batch") place = one.place;
      }
    layout.given["--workers"] = std::to_string(facts_.number("--workers", 0));
    const auto replicas = layout.replicas();
    const std::int64_t samples = layout.number("--batch", 0) * layout.number("--micro-batches", 1);
    if (!replicas || samples == 0) return;
    take(parts_.front(), {"--global-batch", std::to_string(*replicas * samples), place});
  }

  // Sets the run of what the files describe, with the flags that are given, without those that restrict the search.
  // Goes before a file in memory hides a script of arguments.
  void set_own_run(const std::vector<std::string>& files) {
    if (strategy_.empty() || given_.values.contains("--profile")) return;
    CommandLine app;
    add_run(app);
    const Command& run = app.commands.front();
    const GivenFlags flags(run);
    const auto states = [&](const std::string& flag) {
      return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
        return std::any_of(part.config.settings.begin(), part.config.settings.end(),
                           [&](const ConfigSetting& one) { return one.flag == flag; });
      });
    };
    std::vector<std::string> own{"run"};
    given_.visit(result_.words, [&](const std::string& flag, const std::string&, std::size_t first, std::size_t end) {
      const bool is_missing = (flag == "--batch" || flag == "--recompute") && !states(flag);
      const bool is_output = flag == "--json" || flag == "--plot";
      if (flags.canonical(flag).empty() || is_output || (is_among(flag, layout_flags) && !is_missing)) return;
      own.insert(own.end(), result_.words.begin() + static_cast<std::ptrdiff_t>(first),
                 result_.words.begin() + static_cast<std::ptrdiff_t>(end));
    });
    std::vector<std::string> shown = own;
    for (const std::string& file : files) shown.insert(shown.end(), {"--config", file});
    result_.own = OwnRun{shown, shown};
    Context quiet{context_.inputs, Console(true)};
    try {
      result_.own->words = Merge(run, std::move(own), quiet).result(files).words;
    } catch (const InputError&) {  // `run` says it again
    }
  }

  static std::string text_of(const ConfigSetting& setting) {
    return setting.value.empty() ? setting.flag : fmt::format("{} {}", setting.flag, shell_word(setting.value));
  }

  // Values may be long and of several lines.
  static void shorten(std::vector<std::string>& texts) {
    for (std::string& text : texts) text = one_line(text, longest_name);
  }

  void tell(Part& part) {
    for (std::vector<std::string>* texts : {&part.config.not_simulated, &part.config.approximated, &part.config.unset})
      shorten(*texts);
    const auto texts = [](const std::vector<ConfigSetting>& settings) {
      std::vector<std::string> all;
      for (const ConfigSetting& one : settings) all.push_back(text_of(one));
      shorten(all);
      return all;
    };
    const ConfigFile& config = part.config;
    constexpr std::size_t all = 1'000'000;
    const bool json = std::find(result_.words.begin(), result_.words.end(), "--json") != result_.words.end();
    std::string text =
        fmt::format("{} ({}): {}", config.file, config.format,
                    part.taken.empty() ? "nothing taken" : fmt::format("{}", fmt::join(texts(part.taken), " ")));
    for (const auto& [what, names] :
         {std::pair("not simulated", config.not_simulated),
          {"approximated", config.approximated},
          {"unknown here", config.unknown},
          {"variables without a value", config.unset},
          {"given otherwise", part.overridden},
          {command_ == "recommend" ? "for recommend to find" : "not used", texts(part.left_out)}})
      if (!names.empty()) text += fmt::format("; {}: {}", what, listed(names, names.size()));
    constexpr std::size_t most = 3;
    if (!config.ignored.empty())
      text += fmt::format("; ignored: {}{}", listed(config.ignored, json ? all : most),
                          json || config.ignored.size() <= most ? "" : " (--json lists them)");
    context_.console.note_on_success(text);
    context_.console.configs.push_back({{"file", config.file},
                                        {"format", config.format},
                                        {"taken", texts(part.taken)},
                                        {"not_simulated", config.not_simulated},
                                        {"approximated", config.approximated},
                                        {"unknown", config.unknown},
                                        {"unset", config.unset},
                                        {"given_otherwise", part.overridden},
                                        {"left_out", texts(part.left_out)},
                                        {"ignored", config.ignored}});
  }

  std::string command_;
  Context& context_;
  GivenFlags given_;
  ConfigFacts facts_;
  ConfiguredWords result_;
  std::string strategy_;
  std::vector<Part> parts_;
};

// Takes --config and its values away.
std::vector<std::string> take_files(std::vector<std::string>& words) {
  std::vector<std::string> files, rest;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with("--config=")) {
      files.push_back(words[i].substr(9));
    } else if (words[i] == "--config") {
      if (i + 1 == words.size()) throw InputError(argument("--config"), "has no value", "a file");
      files.push_back(words[++i]);
    } else {
      rest.push_back(words[i]);
    }
  }
  words = std::move(rest);
  return files;
}

}  // namespace

InputError ConfiguredWords::located(const InputError& error) const {
  const auto& [file, flag] = error.place();
  if (const auto known = models.find({file, flag}); known != models.end())
    return {known->second, error.wrong(), error.right()};
  if (file != "command line") return error;
  if (const auto known = places.find(flag); known != places.end())
    return {known->second, fmt::format("({}) {}", flag, error.wrong()), error.right()};
  return error;
}

ConfiguredWords with_config(const CommandLine& app, std::vector<std::string> words, Context& context) {
  const Command* command = words.empty() ? nullptr : row_named(app.commands, words[0]);
  const Option* option = command ? command->find("--config") : nullptr;
  if (!option || option->value.name != values::file.name) return {std::move(words)};  // else of a sweep file
  const std::vector<std::string> files = take_files(words);
  if (files.empty()) return {std::move(words)};
  return Merge(*command, std::move(words), context).result(files);
}

PlacesOfModels add_model_of_arguments(const std::vector<std::string>& words, Context& context) {
  PlacesOfModels places;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_value = words[i].starts_with("--model=");
    if (!has_value && (words[i] != "--model" || i + 1 == words.size())) continue;
    const std::string name = has_value ? words[i].substr(8) : words[i + 1];
    const auto model = model_in_arguments(context.files(), name);
    if (!model) continue;
    for (const auto& [path, place] : places_in_arguments(context.files(), name)) places[{name, path}] = place;
    context.inputs.files.add(name, *model);
  }
  return places;
}

void add_config_option(Command& command, std::vector<std::string>& files) {
  command.add_option("--config", files, values::file,
                     "your own configuration, whose settings the other flags override: torchtitan, DeepSpeed, "
                     "Megatron-LM, Hugging Face, a model's folder; any number of times");
}

}  // namespace allreplay
