// The program as a whole: its commands in a table, and what it says where one fails. The program and the Python module
// are made of these.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/command/command_line.hpp"

namespace allreplay {

struct CommandRow {
  std::string_view name;
  void (*add)(CommandLine& app);
  bool tells_of_all = false;  ///< what it says is made of the other commands
};

/// In the order of help.
std::span<const CommandRow> commands();

/// Without commands.
CommandLine command_line();

/// Adds the command that is called, alone, unless it tells of all; all, if none is; none for --version.
void add_commands(CommandLine& app, std::string_view called);

/// Runs the command that the words call. Throws InputError, and what else the command throws (current_failure()).
void run_words(const std::vector<std::string>& given, Context& context);

/// An option of a strategy, a collective or a codec that stands there as a flag, "--bucket-cap" and "10MiB", as the
/// command's --option: "--option=--bucket-cap=10MiB". Throws InputError for one without a value.
std::vector<std::string> with_flags_as_options(const CommandLine& app, std::vector<std::string> words);

/// A slip in a command's or an option's name gets a suggestion, not a parser's complaint. Throws InputError.
void require_known_words(const CommandLine& app, const std::vector<std::string>& words);

/// Why a command failed.
struct Failure {
  std::string text;       ///< the line that the program prints
  bool is_fault = false;  ///< the program's own; else the input's
};

/// Of the exception that is being handled.
Failure current_failure();

}  // namespace allreplay
