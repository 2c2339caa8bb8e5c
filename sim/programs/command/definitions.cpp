#include "sim/programs/command/definitions.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/text.hpp"

namespace allreplay {

ValueKind::ValueKind(const OptionValue& value, bool several)
    : name(std::string(value.name) + (several ? ",..." : "")), list(value.list), file(value.file) {
  if (!value.choices.empty())
    for (const std::string_view choice : split(value.choices, ",")) words.emplace_back(choice);
  if (value.words) words = value.words();
  if (value.annotated) annotated = value.annotated();
  if (list.empty() && words.empty()) words = names_of(annotated);
}

std::vector<CommandDefinition> commands_of(const CommandLine& app) {
  std::vector<CommandDefinition> commands;
  for (const Command& one : app.get_subcommands()) {
    commands.push_back({one.get_name(), one.get_description(), one.get_footer(), {}});
    auto& options = commands.back().options;
    for (const Option& option : one.get_options()) options.push_back(option.definition());
    std::stable_partition(options.begin(), options.end(), [](const auto& option) { return !option.positional; });
  }
  return commands;
}

std::string OptionDefinition::help_in_one_line() const {
  return value.annotated.empty() ? help : fmt::format("{} {}", help, fmt::join(names_of(value.annotated), ", "));
}

}  // namespace allreplay
