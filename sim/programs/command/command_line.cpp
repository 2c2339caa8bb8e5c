#include "sim/programs/command/command_line.hpp"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/programs/command/console.hpp"
#include "sim/programs/command/help.hpp"

namespace allreplay {

namespace {

bool is_flag(const OptionRecord& option) {
  return std::holds_alternative<bool*>(option.target) || std::holds_alternative<std::monostate>(option.target);
}

bool is_positional(const OptionRecord& option) { return option.names[0] != '-'; }

std::string default_of(const OptionRecord& option) {
  const auto* text = std::get_if<std::string*>(&option.target);
  return option.shows_default && text ? **text : "";
}

}  // namespace

std::vector<std::string> OptionRecord::separate_names() const {
  std::vector<std::string> apart;
  for (std::size_t start = 0; start <= names.size();) {
    const std::size_t end = std::min(names.find(',', start), names.size());
    apart.push_back(names.substr(start, end - start));
    start = end + 1;
  }
  return apart;
}

std::string OptionRecord::longest_name() const { return names.substr(names.rfind(',') + 1); }

Option Option::takes(const OptionValue& value) {
  record_->value = value;
  return *this;
}

Option Option::required(bool whether) {
  record_->required = whether;
  return *this;
}

Option Option::several() {
  record_->several = true;
  record_->extra_args = false;
  return *this;
}

Option Option::allow_extra_args(bool whether) {
  record_->extra_args = whether;
  return *this;
}

Option Option::implied(const std::string& value) {
  record_->implied = value;
  return *this;
}

Option Option::capture_default_str() {
  record_->shows_default = true;
  return *this;
}

Option Option::needs(Option other) {
  record_->needs.push_back(other.record_);
  return *this;
}

Option Option::excludes(Option other) {
  record_->excludes.push_back(other.record_);
  other.record_->excludes.push_back(record_);
  return *this;
}

Option Option::unless(Option other) {
  record_->unless.push_back(other.record_);
  return *this;
}

Option Option::group(const std::string& name) {
  record_->group = name;
  return *this;
}

OptionDefinition Option::definition() const {
  OptionDefinition definition;
  definition.names = record_->separate_names();
  definition.help = record_->help + (record_->several ? "; several: a,b" : "");
  definition.several = record_->several;
  definition.default_text = default_of(*record_);
  definition.positional = is_positional(*record_);
  definition.required = record_->required;
  definition.group = record_->group;
  definition.flag = is_flag(*record_);
  definition.repeatable = std::holds_alternative<std::vector<std::string>*>(record_->target);
  if (!definition.flag) definition.value = ValueKind(record_->value, record_->several);
  return definition;
}

Option Command::add_option(const std::string& names, std::string& target, const OptionValue& value,
                           const std::string& help) {
  return Option(
      &record_->options.emplace_back(OptionRecord{.names = names, .help = help, .target = &target, .value = value}));
}

Option Command::add_option(const std::string& names, std::vector<std::string>& target, const OptionValue& value,
                           const std::string& help) {
  return Option(
      &record_->options.emplace_back(OptionRecord{.names = names, .help = help, .target = &target, .value = value}));
}

Option Command::add_flag(const std::string& names, bool& value, const std::string& help) {
  return Option(&record_->options.emplace_back(OptionRecord{.names = names, .help = help, .target = &value}));
}

void Command::footer(const std::string& text) { record_->footer = text; }

void Command::callback(std::function<void(Context&)> run) { record_->run = std::move(run); }

std::string Command::get_name() const { return record_->name; }

std::string Command::get_description() const { return record_->help; }

std::string Command::get_footer() const { return record_->footer; }

Option Command::get_option(const std::string& name) const {
  for (OptionRecord& option : record_->options)
    for (const std::string& one : option.separate_names())
      if (one == name) return Option(&option);
  throw std::logic_error(record_->name + " has no option " + name);
}

std::vector<Option> Command::get_options() const {
  std::vector<Option> options;
  for (OptionRecord& option : record_->options) options.emplace_back(&option);
  return options;
}

CommandLine::CommandLine(const std::string& program, const std::string& description, const std::string& version,
                         const std::string& footer)
    : program_(program), description_(description), version_(version), footer_(footer) {}

CommandLine::~CommandLine() = default;

Command CommandLine::add_subcommand(const std::string& name, const std::string& help) {
  auto& command = commands_.emplace_back(std::make_unique<CommandRecord>());
  command->name = name;
  command->help = help;
  command->options.push_back({.names = "-h,--help", .help = "show this help message and exit"});
  return Command(command.get());
}

std::string CommandLine::get_description() const { return description_; }

std::string CommandLine::get_footer() const { return footer_; }

std::vector<Command> CommandLine::get_subcommands() const {
  std::vector<Command> commands;
  for (const auto& command : commands_) commands.emplace_back(command.get());
  return commands;
}

namespace {

// Adds the option to CLI11's command; null for --help, which CLI11 adds itself.
CLI::Option* parsed(CLI::App& command, const OptionRecord& option) {
  if (const auto* text = std::get_if<std::string*>(&option.target))
    return command.add_option(option.names, **text, option.help);
  if (const auto* texts = std::get_if<std::vector<std::string>*>(&option.target))
    return command.add_option(option.names, **texts, option.help);
  if (const auto* flag = std::get_if<bool*>(&option.target)) return command.add_flag(option.names, **flag, option.help);
  return nullptr;
}

// Names a missing option and those that could replace it: "--profile or --model", "--cluster or --nodes, …", "FILE".
std::string required_name(const OptionRecord& option) {
  if (is_positional(option)) return std::string(option.value.name);
  std::string name = option.longest_name();
  if (!option.unless.empty()) name += " or " + option.unless.front()->longest_name();
  return name + (option.unless.size() > 1 ? ", …" : "");
}

[[noreturn]] void refuse_missing(const OptionRecord& option, const std::string& command) {
  const std::string value =
      is_positional(option) || option.value.name.empty() ? "" : fmt::format(" {}", option.value.name);
  throw InputError({"command line", ""}, fmt::format("{} is required", required_name(option)),
                   fmt::format("{}{}: {}; see allreplay {} --help",
                               is_positional(option) ? std::string(option.value.name) : option.longest_name(), value,
                               option.help, command));
}

// Returns an option that takes one value but was given several times, or null.
const CLI::Option* given_twice(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_items_expected_max() == 1 && option->count() > 1) return option;
  return nullptr;
}

// Adds a command to CLI11; its options only if it may be called, since adding all options would dominate start-up time.
void add(CLI::App& app, const CommandRecord& record, const std::vector<std::string>& words, Context& context) {
  CLI::App& command = *app.add_subcommand(record.name, record.help);
  if (std::find(words.begin(), words.end(), record.name) == words.end()) return;
  std::map<const OptionRecord*, CLI::Option*> known;
  for (const OptionRecord& option : record.options)
    if (CLI::Option* one = parsed(command, option)) {
      known[&option] = one;
      if (option.extra_args) one->allow_extra_args(*option.extra_args);
      if (option.shows_default) one->capture_default_str();
      if (!option.implied.empty()) one->expected(0, 1);
    }
  for (const auto& [option, one] : known) {
    for (const OptionRecord* other : option->needs) one->needs(known.at(other));
    for (const OptionRecord* other : option->excludes) one->excludes(known.at(other));
  }
  command.callback([&record, &context, known = std::move(known)] {
    for (const OptionRecord& option : record.options)
      if (option.required && known.at(&option)->count() == 0 &&
          std::none_of(option.unless.begin(), option.unless.end(),
                       [&](const OptionRecord* other) { return known.at(other)->count() > 0; }))
        refuse_missing(option, record.name);
    for (const OptionRecord& option : record.options)
      if (!option.implied.empty() && known.at(&option)->count() > 0 && known.at(&option)->results().front().empty())
        *std::get<std::string*>(option.target) = option.implied;
    record.run(context);
  });
}

}  // namespace

void CommandLine::parse(std::vector<std::string> words, Context& context) {
  CLI::App app(description_, program_);
  app.set_version_flag("--version", version_);
  app.require_subcommand(1);
  for (const auto& command : commands_) add(app, *command, words, context);
  try {
    std::reverse(words.begin(), words.end());  // CLI11 expects the words in reverse order
    app.parse(std::move(words));
  } catch (const CLI::CallForVersion&) {
    context.console.print("{}\n", version_);
  } catch (const CLI::Success&) {  // --help, of the program or of a command
    const auto called = app.get_subcommands();
    const std::vector<CommandDefinition> commands = commands_of(*this);
    const std::size_t width = screen().width;
    context.console.print("{}", called.empty() ? program_help(commands, description_, footer_, width)
                                               : command_help(*row_named(commands, called.front()->get_name()), width));
  } catch (const CLI::ParseError& error) {
    const auto called = app.get_subcommands();
    std::string what = error.what();
    if (const auto* twice =
            called.empty() || error.get_name() != "ArgumentMismatch" ? nullptr : given_twice(*called.front()))
      what = fmt::format("{} is given {} times", twice->get_name(), twice->count());
    throw InputError(
        {"command line", ""}, what,
        fmt::format("{}see allreplay {}--help", error.get_name() == "ExcludesError" ? "one of the two; " : "",
                    called.empty() ? "" : called.front()->get_name() + " "));
  }
}

}  // namespace allreplay
