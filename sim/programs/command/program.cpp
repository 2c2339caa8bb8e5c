#include "sim/programs/command/program.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>
#include <system_error>

#include <fmt/format.h>

#include "sim/base/core/interruption.hpp"
#include "sim/base/core/version.hpp"
#include "sim/output/report/phrases.hpp"
#include "sim/plans/schedule/unknown_name_hints.hpp"
#include "sim/programs/command/config_words.hpp"
#include "sim/programs/command/help.hpp"

namespace allreplay {

namespace {

constexpr CommandRow all_commands[] = {
    {"run", add_run},
    {"compare", add_compare},
    {"sweep", add_sweep},
    {"plan", add_plan},
    {"topology", add_topology},
    {"collective", add_collective},
    {"codec", add_codec},
    {"calibrate", add_calibrate},
    {"validate", add_validate},
    {"tune", add_tune},
    {"recommend", add_recommend},
    {"whatif", add_whatif},
    {"goodput", add_goodput},
    {"jobs", add_jobs},
    {"schedule", add_schedule},
    {"diagnose", add_diagnose},
    {"judge", add_judge},
    {"estimate", add_estimate},
    {"import", add_import},
    {"export", add_export},
    {"plot", add_plot},
    {"report", add_report},
    {"list", add_list},
    {"help", add_help, true},
    {"completion", add_completion},
};

}  // namespace

std::span<const CommandRow> commands() { return all_commands; }

CommandLine command_line() {
  return {"allreplay",
          "allreplay replays the iterations of distributed training on a cluster that you describe, and reports how "
          "long one takes with each communication schedule.",
          "allreplay " + version_and_commit() + "\nbuilt with " + built_with(),
          "First steps:\n"
          "  allreplay list strategies\n"
          "  allreplay compare --profile googlenet_k80_b32 --cluster k80-10gbe --workers 64\n"
          "  allreplay recommend --profile googlenet_k80_b32 --cluster k80-10gbe --workers 8:1024:x2\n"
          "  allreplay run --help\n"
          "  allreplay help ddp"};
}

void add_commands(CommandLine& app, std::string_view called) {
  if (called == "--version") return;
  const CommandRow* command = row_named(commands(), called);
  for (const CommandRow& one : commands())
    if (!command || command->tells_of_all || &one == command) one.add(app);
}

namespace {

// "an option of estimate and plan", for an option of other commands; "" if none has it.
std::string commands_with(const std::string& option) {
  CommandLine all = command_line();
  add_commands(all, "");
  std::vector<std::string> names;
  for (const Command& one : all.commands)
    if (one.find(option)) names.push_back(one.name);
  if (names.empty()) return "";
  constexpr std::size_t most = 3;
  const bool makes_profiles = names.front() == "estimate";
  return fmt::format("an option of {}{}", listed(names, most), makes_profiles ? ", whose profile --profile takes" : "");
}

}  // namespace

std::vector<std::string> with_flags_as_options(const CommandLine& app, std::vector<std::string> words) {
  if (!words.empty() && words[0] == "help")  // explains flags, too
    for (std::size_t i = 1; i < words.size(); ++i)
      if (words[i].starts_with("--") && words[i] != "--help") words[i].erase(0, 2);
  const Command* command = words.empty() ? nullptr : row_named(app.commands, words[0]);
  if (!command || !command->find("--option")) return words;
  std::vector<std::string> result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string flag = words[i].substr(0, words[i].find('='));
    const OptionRow* row = flag.starts_with("--") ? row_named(option_rows(), option_of(flag)) : nullptr;
    if (!row || flag_of(row->name) != flag || command->find(flag)) {
      result.push_back(words[i]);
      continue;
    }
    if (flag == words[i] && i + 1 == words.size())
      throw InputError(argument(flag), "has no value", fmt::format("see allreplay help {}", row->name));
    const std::string given = flag == words[i] ? flag + "=" + words[++i] : words[i];
    result.push_back("--option=" + given);
  }
  return result;
}

void require_known_words(const CommandLine& app, const std::vector<std::string>& words) {
  if (words.empty() || words[0].starts_with('-')) return;
  const std::string& command = words[0];
  const Command* called = row_named(app.commands, command);
  if (!called) throw InputError(argument(command), "no such command", suggest(command, names_of(commands())));
  std::vector<std::string> options;
  for (const Option& one : called->options)
    for (const std::string& name : one.all_names())
      if (name.starts_with("--")) options.push_back(name);
  if (called->find("--option"))
    for (const OptionRow& row : option_rows()) options.push_back(flag_of(row.name));
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string name(words[i].substr(0, words[i].find('=')));
    if (!name.starts_with("--") || name.size() == 2) continue;
    if (std::find(options.begin(), options.end(), name) != options.end()) continue;
    const bool slip = std::any_of(options.begin(), options.end(), [&](const std::string& one) {
      return one.starts_with(name) || name.starts_with(one);
    });
    if (!slip) hint_at_absent_name(name, argument(name));
    if (const std::string others = commands_with(name); !others.empty())
      throw InputError(argument(name), fmt::format("{} has no such option", command), others);
    throw InputError(argument(name), fmt::format("{} has no such option", command), suggest(name, options));
  }
}

namespace {

// Rejects empty arguments, which usually come from unset variables in scripts.
void require_no_empty(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.empty())
      throw InputError(argument(i > 0 ? words[i - 1] : ""), "is followed by an empty argument", "a value");
    if (word.starts_with("--") && word.ends_with("="))
      throw InputError(argument(word.substr(0, word.size() - 1)), "has no value", "a value");
  }
}

}  // namespace

void run_words(const std::vector<std::string>& given, Context& context) {
  require_no_empty(given);
  CommandLine app = command_line();
  add_commands(app, given.empty() ? "" : given.front());
  ConfiguredWords configured = with_config(app, given, context);
  context.own = configured.own;
  try {
    const std::vector<std::string> words = with_flags_as_options(app, configured.words);
    require_known_words(app, words);
    configured.models.merge(add_model_of_arguments(words, context));
    app.parse(words, context);
    context.console.tell_held_notes();
  } catch (const InputError& error) {
    throw InputError(configured.located(error));
  }
}

Failure current_failure() {
  try {
    throw;
  } catch (const InputError& error) {
    return {error.what()};
  } catch (const RankError& error) {
    return {error.what()};
  } catch (const Incomplete& error) {
    return {error.what(), true};
  } catch (const TimeOverflow& error) {
    return {fmt::format("input: {}", error.what())};
  } catch (const std::bad_alloc&) {
    return {std::string(memory_is_full)};
  } catch (const std::filesystem::filesystem_error& error) {
    return {fmt::format("{}: cannot be used: {} (check the path)", error.path1().string(), error.code().message())};
  } catch (const std::system_error& error) {  // from fmt's printing, or from threads
    // A pipe's reader, such as `head`, may stop reading early.
    if (error.code() == std::errc::broken_pipe && std::ferror(stdout) != 0) return {""};
    return {fmt::format("{}: {} (check its space, and the limits of this machine)",
                        std::ferror(stdout) != 0 ? "standard output: cannot be written" : "allreplay",
                        error.code().message())};
  } catch (const std::exception& error) {
    return {fmt::format("allreplay: internal error: {}", error.what()), true};
  }
}

}  // namespace allreplay
