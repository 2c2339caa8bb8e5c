#include "sim/command/program.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>
#include <system_error>

#include <fmt/format.h>

#include "sim/command/help.hpp"
#include "sim/core/version.hpp"
#include "sim/schedule/asked.hpp"

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
    {"estimate", add_estimate},
    {"import", add_import},
    {"export", add_export},
    {"plot", add_plot},
    {"report", add_report},
    {"list", add_list},
    {"help", add_help, true},
    {"man", add_man, true},
    {"completion", add_completion, true},
};

}  // namespace

std::span<const CommandRow> commands() { return all_commands; }

CommandLine command_line() {
  return {"allreplay",
          "allreplay replays the iterations of distributed training on a cluster that you describe, and says how long "
          "one "
          "takes under which communication schedule.",
          "allreplay " + version_and_commit() + "\nbuilt with " + built_with(),
          "First steps:\n"
          "  allreplay list strategies\n"
          "  allreplay compare --profile googlenet_k80_b32 --cluster k80-10gbe --workers 64\n"
          "  allreplay recommend --profile googlenet_k80_b32 --cluster k80-10gbe --workers 8:1024:x2\n"
          "  allreplay run --help\n"
          "  allreplay help ddp"};
}

void call_command(const std::string& name, const std::vector<GivenOption>& options) {
  const CommandRow& command = find_by_name(commands(), name, argument(name), "no such command");
  CommandLine app = command_line();
  for (const CommandRow& one : commands())
    if (command.tells_of_all || &one == &command) one.add(app);
  app.call(name, options);
}

namespace {

bool has_option(const CommandDefinition& command, std::string_view name) {
  return std::any_of(command.options.begin(), command.options.end(), [&](const OptionDefinition& option) {
    return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
  });
}

}  // namespace

std::vector<std::string> with_flags_as_options(const CommandLine& app, std::vector<std::string> words) {
  const std::vector<CommandDefinition> all = commands_of(app);
  const CommandDefinition* command = words.empty() ? nullptr : row_named(all, words[0]);
  if (!command || !has_option(*command, "--option")) return words;
  std::vector<std::string> result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string flag = words[i].substr(0, words[i].find('='));
    const OptionRow* row = flag.starts_with("--") ? row_named(option_rows(), option_of(flag)) : nullptr;
    if (!row || flag_of(row->name) != flag || has_option(*command, flag)) {
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
  std::vector<std::string> known, options;
  for (const CommandDefinition& one : commands_of(app)) {
    known.push_back(one.name);
    if (one.name != command) continue;
    for (const OptionDefinition& option : one.options)
      for (const std::string& name : option.names)
        if (name.starts_with("--")) options.push_back(name);
    if (has_option(one, "--option"))
      for (const OptionRow& row : option_rows()) options.push_back(flag_of(row.name));
  }
  if (std::find(known.begin(), known.end(), command) == known.end())
    throw InputError(argument(command), "no such command", suggest(command, known));
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string name(words[i].substr(0, words[i].find('=')));
    if (!name.starts_with("--") || name.size() == 2) continue;
    if (std::find(options.begin(), options.end(), name) != options.end()) continue;
    const bool slip = std::any_of(options.begin(), options.end(), [&](const std::string& one) {
      return one.starts_with(name) || name.starts_with(one);
    });
    if (!slip) answer_what_is_absent(name, argument(name));
    throw InputError(argument(name), fmt::format("{} has no such option", command), suggest(name, options));
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
    return {"allreplay: the memory is full (a smaller input, or fewer --jobs)"};
  } catch (const std::filesystem::filesystem_error& error) {
    return {fmt::format("{}: cannot be used: {} (check the path)", error.path1().string(), error.code().message())};
  } catch (const std::system_error& error) {  // fmt's, of printing; of threads
    return {fmt::format("{}: {} (check its space, and the limits of this machine)",
                        std::ferror(stdout) != 0 ? "standard output: cannot be written" : "allreplay",
                        error.code().message())};
  } catch (const std::exception& error) {
    return {fmt::format("allreplay: internal error: {}", error.what()), true};
  }
}

}  // namespace allreplay
