// Users' own configurations as words of the command line: --config FILE.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/programs/command/command_line.hpp"

namespace allreplay {

/// A command line with what its configurations say, and the places that this came from, by flag.
struct ConfiguredWords {
  std::vector<std::string> words;
  std::map<std::string, SourceLocation, std::less<>> places;

  /// The error with the place in the configuration, if its own is a flag that follows from one.
  InputError located(const InputError& error) const;
};

/// Replaces --config FILE by the flags that follow from the file, behind which the given words stay as they are; flags
/// that are given win. Prints a note that says what was taken. Throws InputError.
ConfiguredWords with_config(const CommandLine& app, std::vector<std::string> words, Context& context);

/// Lets --model name a file of Megatron-LM's arguments: adds the model that they describe, as a file in memory. Throws
/// InputError.
void add_model_of_arguments(const std::vector<std::string>& words, Context& context);

/// Adds --config, which with_config() takes away before a command is parsed.
void add_config_option(Command command, std::vector<std::string>& files);

}  // namespace allreplay
