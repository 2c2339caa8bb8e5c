#include "sim/programs/command/command_line.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/programs/command/console.hpp"
#include "sim/programs/command/help.hpp"

namespace allreplay {

std::vector<std::string> OptionValue::fixed_words() const {
  if (words) return words();
  if (annotated && list.empty()) return names_of(annotated());
  std::vector<std::string> all;
  if (!choices.empty())
    for (const std::string_view choice : split(choices, ",")) all.emplace_back(choice);
  return all;
}

std::vector<std::string> Option::all_names() const {
  const auto all = split(names, ",");
  return {all.begin(), all.end()};
}

std::string Option::help_in_one_line() const {
  const std::vector<AnnotatedValue> annotated = value.annotated_words();
  return annotated.empty() ? full_help() : fmt::format("{} {}", full_help(), fmt::join(names_of(annotated), ", "));
}

std::string Option::default_text() const {
  const auto* text = std::get_if<std::string*>(&target);
  return text ? **text : "";
}

Option& Command::add_option(const std::string& names, std::string& target, const OptionValue& value,
                            const std::string& about) {
  return options.emplace_back(Option{.names = names, .help = about, .target = &target, .value = value});
}

Option& Command::add_option(const std::string& names, std::vector<std::string>& target, const OptionValue& value,
                            const std::string& about) {
  return options.emplace_back(Option{.names = names, .help = about, .target = &target, .value = value});
}

Option& Command::add_flag(const std::string& names, bool& target, const std::string& about) {
  return options.emplace_back(Option{.names = names, .help = about, .target = &target});
}

const Option* Command::find(std::string_view option) const {
  for (const Option& one : options)
    for (const std::string_view known : split(one.names, ","))
      if (known == option) return &one;
  return nullptr;
}

namespace {

// Adds the option to CLI11's command; null for --help, which CLI11 adds itself.
CLI::Option* parsed(CLI::App& command, const Option& option) {
  if (const auto* text = std::get_if<std::string*>(&option.target))
    return command.add_option(option.names, **text, option.help);
  if (const auto* texts = std::get_if<std::vector<std::string>*>(&option.target))
    return command.add_option(option.names, **texts, option.help);
  if (const auto* flag = std::get_if<bool*>(&option.target)) return command.add_flag(option.names, **flag, option.help);
  return nullptr;
}

// Names the missing option and those that could replace it: "--profile or --model", "--cluster or --nodes, …", "FILE".
[[noreturn]] void refuse_missing(const Option& option, const std::string& command) {
  const std::string value(option.value.name), name = option.is_positional() ? value : option.longest_name();
  const auto& others = option.alternatives;
  throw InputError(
      {"command line", ""},
      fmt::format("{}{}{} is required", name, others.empty() ? "" : " or " + others.front()->longest_name(),
                  others.size() > 1 ? ", …" : ""),
      fmt::format("{}{}: {}; see allreplay {} --help", name, option.is_positional() || value.empty() ? "" : " " + value,
                  option.help_in_one_line(), command));
}

// Returns an option that takes one value but was given several times, or null.
const CLI::Option* given_twice(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_items_expected_max() == 1 && option->count() > 1) return option;
  return nullptr;
}

// Throws InputError for an option whose value is missing, named as it was given.
void require_values(const Command& command, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Option* option = words[i].starts_with('-') ? command.find(words[i]) : nullptr;
    if (!option || option->is_flag() || !option->implied_value.empty()) continue;
    const std::string next = i + 1 < words.size() ? words[i + 1] : "";
    if (next.empty() || (next.starts_with('-') && command.find(next.substr(0, next.find('=')))))
      throw InputError(argument(words[i]), "has no value",
                       fmt::format("{}{}{}; see allreplay {} --help", words[i], option->value.name.empty() ? "" : " ",
                                   option->value.name, command.name));
  }
}

// Adds a command to CLI11; its options only if it may be called, since adding all options would dominate start-up time.
void add_to(CLI::App& app, const Command& own, const std::vector<std::string>& words, Context& context) {
  CLI::App& command = *app.add_subcommand(own.name, own.help);
  if (std::find(words.begin(), words.end(), own.name) == words.end()) return;
  std::map<const Option*, CLI::Option*> known;
  for (const Option& option : own.options)
    if (CLI::Option* one = parsed(command, option)) {
      known[&option] = one;
      if (!option.is_positional() && !option.takes_several_words) one->allow_extra_args(false);
      if (!option.implied_value.empty()) one->expected(0, 1)->default_str(option.implied_value);
    }
  for (const auto& [option, one] : known) {
    for (const Option* other : option->needed) one->needs(known.at(other));
    for (const Option* other : option->excluded) one->excludes(known.at(other));
  }
  command.callback([&own, &context, known = std::move(known)] {
    const auto is_given = [&](const Option* option) { return known.at(option)->count() > 0; };
    for (const Option& option : own.options)
      if (option.is_required && !is_given(&option) && std::ranges::none_of(option.alternatives, is_given))
        refuse_missing(option, own.name);
    own.run(context);
  });
}

}  // namespace

void CommandLine::parse(std::vector<std::string> words, Context& context) const {
  CLI::App app(about, program);
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  for (const Command& command : commands) add_to(app, command, words, context);
  const auto called = [&] {
    const auto given = app.get_subcommands();
    return given.empty() ? nullptr : given.front();
  };
  const std::vector<std::string> given = words;
  try {
    std::reverse(words.begin(), words.end());  // CLI11 expects the words in reverse order
    app.parse(std::move(words));
  } catch (const CLI::CallForVersion&) {
    context.console.print("{}\n", version);
  } catch (const CLI::Success&) {  // --help, of the program or of a command
    const std::size_t width = screen().width;
    context.console.print(
        "{}", called() ? command_help(*row_named(commands, called()->get_name()), width) : program_help(*this, width));
  } catch (const CLI::ParseError& error) {
    const bool may_repeat = called() && error.get_name() == "ArgumentMismatch";
    if (may_repeat) require_values(*row_named(commands, called()->get_name()), given);
    const auto* twice = may_repeat ? given_twice(*called()) : nullptr;
    throw InputError(
        {"command line", ""},
        twice ? fmt::format("{} is given {} times", twice->get_name(), twice->count()) : error.what(),
        fmt::format("{}see allreplay {}--help", error.get_name() == "ExcludesError" ? "one of the two; " : "",
                    called() ? called()->get_name() + " " : ""));
  }
}

}  // namespace allreplay
