#include "sim/formats/configs/config_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/formats/configs/known_keys.hpp"
#include "sim/formats/configs/reader.hpp"

namespace allreplay {

namespace {

// A format, which is recognised by keys that only it has.
struct Format {
  std::string_view name;
  bool (*is)(const Entries& entries);
  void (*read)(ConfigReader& read, const Files& files);
};

bool has_any(const Entries& entries, std::initializer_list<std::string_view> keys) {
  return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) { return entries.has(key); });
}

const Format formats[] = {
    {"torchtitan",
     [](const Entries& e) {
       return has_any(e, {"training.", "parallelism.", "activation_checkpoint."});
     },
     [](ConfigReader& read, const Files&) { read_torchtitan(read); }},
    {"DeepSpeed",
     [](const Entries& e) {
       return has_any(e, {"zero_optimization.", "train_micro_batch_size_per_gpu", "train_batch_size"});
     },
     [](ConfigReader& read, const Files&) { read_deepspeed(read); }},
    {"Hugging Face",
     [](const Entries& e) {
       return has_any(e, {"distributed_type", "fsdp_config", "per_device_train_batch_size", "deepspeed_config.",
                          "gradient_checkpointing"});
     },
     [](ConfigReader& read, const Files& files) { read_hugging_face(read, files); }},
    {"Megatron-LM",
     [](const Entries& e) {
       return has_any(e, {"micro_batch_size", "tensor_model_parallel_size", "pipeline_model_parallel_size",
                          "use_distributed_optimizer", "overlap_grad_reduce", "overlap_param_gather", "ddp_bucket_size",
                          "use_megatron_fsdp", "num_layers"});
     },
     [](ConfigReader& read, const Files&) { read_megatron(read); }},
    {"environment", has_environment, [](ConfigReader& read, const Files&) { read_environment(read); }},
};

void read_as(const Format& format, ConfigReader& read, const Files& files) {
  format.read(read, files);
  read_launcher(read);
}

// The first line that is neither empty nor a comment.
std::string_view first_line(std::string_view text) {
  for (const std::string_view line : split(text.substr(0, 10'000), "\n"))
    if (const std::string_view word = trim(line); !word.empty() && !word.starts_with('#')) return word;
  return "";
}

// Chooses the syntax by the ending of the name and, if that says nothing, by the text.
Entries entries_of(const std::string& text, const std::string& file) {
  const std::string ending = std::filesystem::path(file).extension().string();
  const std::string_view start = trim(text);
  if (ending == ".toml") return entries_of_toml(text, file);
  if (ending == ".yaml" || ending == ".yml") return entries_of_yaml(text, file);
  if (ending == ".json" || start.starts_with('{')) return entries_of_json(text, file);
  const bool is_script = text.starts_with("#!") || text.find("- arguments -") != std::string::npos;
  if (!is_script && ending != ".sh" && ending != ".log" && ending != ".txt") {
    const std::string_view first = first_line(text);
    if (first.starts_with('[') && first.ends_with(']')) return entries_of_toml(text, file);
    if (first == "---" || first.find(": ") != std::string_view::npos || first.ends_with(':'))
      return entries_of_yaml(text, file);
  }
  return entries_of_arguments(text, file);
}

// Adds the file of torchtitan that a script of its arguments names, which the arguments override.
void add_named_toml(Entries& entries, ConfigFile& config, const Files& files, const std::vector<std::string>& given) {
  const Entry* named = entries.find("job.config_file");
  if (!named || named->value.empty()) return;
  const std::filesystem::path own = named->value;
  std::vector<std::string> places;
  for (const std::string& file : given)
    if (std::filesystem::path(file).filename() == own.filename()) places.push_back(file);
  places.push_back((std::filesystem::path(entries.file()).parent_path() / own).lexically_normal().string());
  places.push_back(own.string());
  for (const std::string& file : places) {
    if (!files.is_file(file)) continue;
    entries.add_missing(entries_of_toml(files.read(file, most_bytes_of_config), file));
    config.included = file;
    return;
  }
  config.not_simulated.push_back(fmt::format("job.config_file {} (not found: give it as --config, too)", own.string()));
}

ConfigFile config_of_model(const std::string& name, const std::string& file) {
  ConfigFile config{.format = "model", .file = name};
  config.settings.push_back({"--model", name, {file, ""}});
  return config;
}

// Reads a file with one value. Keeps what was read before an error.
ConfigFile config_of(const Format& format, Entries& entries) {
  ConfigFile config{.file = entries.file()};
  ConfigReader read(entries, config);
  try {
    read_as(format, read, Files());
    // Workers and samples that the value 2 divides, since groups follow from them.
    const ConfigFacts facts{
        .precision = "bf16", .hidden = 1024, .node = 8, .given = {{"--workers", "4"}, {"--global-batch", "4"}}};
    for (const auto& later : config.later)
      for (ConfigSetting& one : later(facts)) config.settings.push_back(std::move(one));
  } catch (const InputError&) {  // not a value of this key, or other keys are missing
  }
  return config;
}

// The key without what people write in several ways.
std::string plain_key(std::string_view key) {
  if (key.starts_with("--")) key.remove_prefix(2);
  std::string text = lower_case(key);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

// The flags that follow from a key for some value. One that every value sets identically is not read from it.
std::vector<std::string> flags_of_key(const Format& format, const std::string& key) {
  const SourceLocation place{"help", key};
  const std::array values{"2", "true", "default", "FULL_SHARD", "bf16"};
  std::vector<std::string> flags;
  std::map<std::pair<std::string, std::string>, std::size_t> times;  // by flag and value
  for (const char* value : values) {
    Entries entries(place.file);
    entries.add(key, value, place);
    for (const ConfigSetting& one : config_of(format, entries).settings)
      if (one.place == place && times[{one.flag, one.value}]++ == 0) flags.push_back(one.flag);
  }
  for (const auto& [set, count] : times)
    if (count == values.size()) std::erase(flags, set.first);
  std::sort(flags.begin(), flags.end());
  flags.erase(std::unique(flags.begin(), flags.end()), flags.end());
  return flags;
}

}  // namespace

std::vector<FrameworkSetting> framework_settings(std::string_view name) {
  const std::string wanted = plain_key(name);
  std::vector<FrameworkSetting> found;
  for (const Format& format : formats) {
    Entries none("help");
    config_of(format, none);
    std::set<std::string> keys(none.asked().begin(), none.asked().end());
    for (const std::string_view key : conditional_keys(format.name)) keys.emplace(key);
    for (const std::string& key : keys) {
      const std::string plain = plain_key(key);
      if (plain == wanted || plain.ends_with("." + wanted))
        found.push_back({format.name, key, flags_of_key(format, key)});
    }
  }
  return found;
}

ConfigFile read_config(const Files& files, const std::string& name, const std::vector<std::string>& given) {
  const std::string in_folder = name + (name.ends_with('/') ? "" : "/") + "config.json";
  if (files.is_file(in_folder)) return config_of_model(name, in_folder);
  std::error_code too_long;
  if (!files.is_file(name))
    throw InputError({"command line", "--config"},
                     std::filesystem::is_directory(name, too_long)
                         ? fmt::format("{} is a folder without config.json", name)
                         : fmt::format("no such file: {}", name),
                     config_formats);
  const std::string ending = std::filesystem::path(name).extension().string();
  for (const std::string_view page : {".md", ".rst", ".html", ".htm", ".pdf"})
    if (ending == page) throw InputError({name, ""}, "is a page of text, not a configuration", config_formats);
  const std::string text = files.read(name, most_bytes_of_config);
  if (const std::string code = with_own_names(text); calls_pytorch(code)) {
    ConfigFile script{.format = "PyTorch", .file = name};
    Entries none(name);
    ConfigReader calls(none, script);
    read_pytorch(calls, code);
    return script;
  }
  Entries entries = entries_of(text, name);
  if (entries.has("model_type")) return config_of_model(name, name);
  ConfigFile config{.file = name};
  ConfigReader read(entries, config);
  add_named_toml(entries, config, files, given);
  const auto is = [&](const Format& one) { return one.is(entries); };
  const auto format = std::find_if(std::begin(formats), std::end(formats), is);
  if (format == std::end(formats)) throw InputError({name, ""}, "is not a known kind of configuration", config_formats);
  config.format = format->name;
  read_as(*format, read, files);
  config.unset = entries.unset();
  sort_unread(entries, format->name, config);
  return config;
}

}  // namespace allreplay
