#include "sim/command/command_line.hpp"

#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/command/definitions.hpp"

namespace allreplay {

Option Option::required(bool whether) {
  option_->required(whether);
  return *this;
}

Option Option::delimiter(char between) {
  option_->delimiter(between);
  return *this;
}

Option Option::allow_extra_args(bool whether) {
  option_->allow_extra_args(whether);
  return *this;
}

Option Option::capture_default_str() {
  option_->capture_default_str();
  return *this;
}

Option Option::needs(Option other) {
  option_->needs(other.option_);
  return *this;
}

Option Option::excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}

Option Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option Option::description(const std::string& help) {
  option_->description(help);
  return *this;
}

OptionDefinition Option::definition() const {
  OptionDefinition definition;
  definition.help = option_->get_description();
  definition.standard = option_->get_default_str();
  definition.positional = option_->get_positional();
  definition.required = option_->get_required();
  definition.flag = option_->get_items_expected_max() == 0;
  definition.repeatable = option_->get_items_expected_max() > 1 && option_->get_delimiter() == '\0';
  if (definition.positional) definition.names.push_back(option_->get_name(true));
  for (const std::string& name : option_->get_snames()) definition.names.push_back("-" + name);
  for (const std::string& name : option_->get_lnames()) definition.names.push_back("--" + name);
  return definition;
}

Option Command::add_option(const std::string& names, std::string& value, const std::string& help) {
  return Option(command_->add_option(names, value, help));
}

Option Command::add_option(const std::string& names, std::vector<std::string>& values, const std::string& help) {
  return Option(command_->add_option(names, values, help));
}

Option Command::add_flag(const std::string& names, bool& value, const std::string& help) {
  return Option(command_->add_flag(names, value, help));
}

void Command::footer(const std::string& text) { command_->footer(text); }

void Command::callback(std::function<void()> run) { command_->callback(std::move(run)); }

std::string Command::get_name() const { return command_->get_name(); }

std::string Command::get_description() const { return command_->get_description(); }

std::string Command::get_footer() const {
  const std::string footer = command_->get_footer();
  return footer == command_->get_parent()->get_footer() ? "" : footer;  // CLI11 hands a footer down
}

Option Command::get_option(const std::string& name) const { return Option(command_->get_option(name)); }

std::vector<Option> Command::get_options() const {
  std::vector<Option> options;
  for (CLI::Option* option : command_->get_options()) options.emplace_back(option);
  return options;
}

CommandLine::CommandLine(const std::string& program, const std::string& description, const std::string& version,
                         const std::string& footer)
    : app_(std::make_unique<CLI::App>(description, program)) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
  app_->footer(footer);
}

CommandLine::~CommandLine() = default;

Command CommandLine::add_subcommand(const std::string& name, const std::string& help) {
  return Command(app_->add_subcommand(name, help));
}

std::string CommandLine::get_description() const { return app_->get_description(); }

std::string CommandLine::get_footer() const { return app_->get_footer(); }

std::vector<Command> CommandLine::get_subcommands() const {
  std::vector<Command> commands;
  for (CLI::App* command : app_->get_subcommands(nullptr)) commands.emplace_back(command);
  return commands;
}

std::optional<std::string> CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& help) {
    app_->exit(help);
  } catch (const CLI::ParseError& error) {
    const auto called = app_->get_subcommands();
    return fmt::format("{} (see allreplay {}--help)", error.what(),
                       called.empty() ? "" : called.front()->get_name() + " ");
  }
  return std::nullopt;
}

}  // namespace allreplay
