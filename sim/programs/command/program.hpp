// The program as a whole, for main.cpp and the Python module: its table of commands, running one, reporting failures.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/programs/command/command_line.hpp"

namespace allreplay {

struct CommandRow {
  std::string_view name;
  void (*add)(CommandLine& app);
  bool tells_of_all = false;  ///< needs the other commands, too (help)
};

/// All commands, in the order of the help.
std::span<const CommandRow> commands();

/// The program's command line, still without commands.
CommandLine command_line();

/// Adds only the command `called`; all commands if it needs them or no command has that name; none for --version.
void add_commands(CommandLine& app, std::string_view called);

/// Runs a command line without the program's name. Throws whatever the command throws (see current_failure()).
void run_words(const std::vector<std::string>& given, Context& context);

/// Rewrites flags that are options of a strategy, a collective or a codec, such as "--bucket-cap 10MiB", to
/// "--option=--bucket-cap=10MiB". Throws InputError for one without a value.
std::vector<std::string> with_flags_as_options(const CommandLine& app, std::vector<std::string> words);

/// Throws InputError for an unknown command or option, suggesting a similar name.
void require_known_words(const CommandLine& app, const std::vector<std::string>& words);

/// Answers a completion script (`allreplay __complete WORD…`): prints the completions of the last word, maybe empty.
void print_offers(const std::vector<std::string>& words, Context& context);

/// The reason why a command failed.
struct Failure {
  std::string text;       ///< the line that the program prints; "": nothing
  bool is_fault = false;  ///< an error of the program or incomplete work; else the input's
};

/// Describes the exception that is being handled. REQUIRES: called in a catch block.
Failure current_failure();

}  // namespace allreplay
