#include "sim/command/definitions.hpp"

#include <algorithm>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace allreplay {

namespace {

// By an option's long name, or a positional's; the same in every command.
const std::map<std::string, ValueKind>& kinds() {
  static const ValueKind file{.name = "FILE", .file = true}, number{.name = "N"};
  static const std::map<std::string, ValueKind> known{
      {"--profile", {.name = "PROFILE", .list = "profiles", .file = true}},
      {"--cluster", {.name = "CLUSTER", .list = "clusters", .file = true}},
      {"--codec", {.name = "CODEC", .list = "codecs", .file = true}},
      {"--config", {.name = "CONFIG", .list = "configs", .file = true}},
      {"--strategy", {.name = "STRATEGY", .list = "strategies"}},
      {"--strategies", {.name = "STRATEGY,...", .list = "strategies"}},
      {"--collective", {.name = "COLLECTIVE", .list = "collectives"}},
      {"--fidelity", {.name = "FIDELITY", .words = {"alpha-beta", "fluid", "message"}}},
      {"--framework",
       {.name = "FRAMEWORK", .words = {"pytorch", "horovod", "bytescheduler", "mxnet-p3", "dear", "us-byte"}}},
      {"--method", {.name = "METHOD", .words = {"bayes", "grid"}}},
      {"--option", {.name = "KEY=VALUE", .list = "options"}},
      {"--over", {.name = "KEY=LO:HI", .list = "options"}},
      {"import --from", {.name = "FORMAT", .list = "importers"}},
      {"export --to", {.name = "FORMAT"}},
      {"calibrate --format", {.name = "FORMAT"}},
      {"calibrate --from", {.name = "SIZE"}},
      {"calibrate --to", {.name = "SIZE"}},
      {"calibrate --time", {.name = "TIME", .words = {"out-of-place", "in-place", "avg", "min", "max"}}},
      {"--gamma", {.name = "TIME/B"}},
      {"--line-rate", {.name = "RATE"}},
      {"--model", {.name = "NAME", .list = "models"}},
      {"--match", {.name = "MODEL", .list = "models", .file = true}},
      {"--precision", {.name = "PRECISION", .words = {"fp32", "tf32", "fp16", "bf16"}}},
      {"--distribution", {.name = "DISTRIBUTION", .words = {"normal", "laplace", "lognormal"}}},
      {"--residuals", {.name = "RULE", .words = {"conserving", "as-printed"}}},
      {"--correlation", {.name = "RATIO"}},
      {"--clock", {.name = "GHZ"}},
      {"--name", {.name = "NAME"}},
      {"--device", {.name = "NAME"}},
      {"import --framework", {.name = "NAME"}},
      {"--batch", number},
      {"--elements", number},
      {"--iterations", number},
      {"--repetitions", number},
      {"--cluster-out", file},
      {"FILE", file},
      {"--bytes", {.name = "SIZE"}},
      {"--forward-ratio", {.name = "RATIO"}},
      {"--efficiency", {.name = "RATIO"}},
      {"--workers", number},
      {"calibrate --node", number},
      {"--rails", number},
      {"--jobs", number},
      {"--budget", number},
      {"--seed", number},
      {"--timelines", number},
      {"--out", file},
      {"--timeline", file},
      {"--plot", file},
      {"--dot", file},
      {"file", file},
      {"sweep file", {.name = "FILE", .list = "configs", .file = true}},
      {"list what", {.name = "WHAT", .words = listable()}},
      {"completion shell", {.name = "SHELL", .words = shells()}},
  };
  return known;
}

// Of one command first ("sweep file"), then of any.
ValueKind kind_of(const CLI::App& command, const CLI::Option& option) {
  const std::string name = option.get_positional()       ? option.get_name(true)
                           : option.get_lnames().empty() ? ""
                                                         : "--" + option.get_lnames()[0];
  for (const std::string& key : {command.get_name() + " " + name, name})
    if (const auto found = kinds().find(key); found != kinds().end()) return found->second;
  return {.name = "VALUE"};
}

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

// What follows the first line of a help text: "\n  NAME: what it is", for each value that there is.
std::vector<std::string> listed_values(const std::string& help) {
  std::vector<std::string> values;
  for (std::size_t at = help.find('\n'); at != std::string::npos; at = help.find('\n', at + 1)) {
    const std::size_t name = help.find_first_not_of(" \n", at), end = help.find(':', name);
    if (name != std::string::npos && end != std::string::npos) values.push_back(help.substr(name, end - name));
  }
  return values;
}

// The keys of --option stand in many commands, and are told once; other values stand in their line.
std::string one_line(const std::string& help, bool keys) {
  std::string line = help.substr(0, help.find('\n'));
  if (line.size() == help.size()) return line;
  if (line.ends_with(':')) line.pop_back();
  return keys ? line : fmt::format("{}: {}", line, fmt::join(listed_values(help), ", "));
}

OptionDefinition definition_of(const CLI::App& command, const CLI::Option& option) {
  OptionDefinition definition;
  definition.standard = option.get_default_str();
  definition.positional = option.get_positional();
  definition.required = option.get_required();
  definition.flag = is_flag(option);
  definition.repeatable = option.get_items_expected_max() > 1 && option.get_delimiter() == '\0';
  if (definition.positional) definition.names.push_back(option.get_name(true));
  for (const std::string& name : option.get_snames()) definition.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) definition.names.push_back("--" + name);
  if (!definition.flag) definition.value = kind_of(command, option);
  const std::string help = option.get_description();
  const bool keys = definition.value.list == "options";
  definition.help = one_line(help, keys);
  if (!keys && definition.value.words.empty()) definition.value.words = listed_values(help);
  return definition;
}

}  // namespace

std::vector<CommandDefinition> commands_of(const CLI::App& app) {
  std::vector<CommandDefinition> commands;
  for (const CLI::App* one : app.get_subcommands(nullptr)) {
    const bool own = one->get_footer() != app.get_footer();  // CLI11 hands a footer down
    commands.push_back({one->get_name(), one->get_description(), own ? one->get_footer() : "", {}});
    auto& options = commands.back().options;
    for (const CLI::Option* option : one->get_options()) options.push_back(definition_of(*one, *option));
    std::stable_partition(options.begin(), options.end(), [](const auto& option) { return !option.positional; });
  }
  return commands;
}

void name_values(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands(nullptr))
    for (CLI::Option* option : command->get_options())
      if (!is_flag(*option)) option->type_name(kind_of(*command, *option).name);
}

}  // namespace allreplay
