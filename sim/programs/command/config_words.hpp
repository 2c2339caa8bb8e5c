// Users' own configurations as words of the command line: --config FILE.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/programs/command/command_line.hpp"
#include "sim/programs/command/console.hpp"

namespace allreplay {

/// The places of the numbers of models in Megatron-LM's arguments, by file and by path in the model's JSON.
using PlacesOfModels = std::map<std::pair<std::string, std::string>, SourceLocation>;

/// A command line with the flags that follow from its configurations, and the places of these, by flag.
struct ConfiguredWords {
  std::vector<std::string> words;
  std::map<std::string, SourceLocation, std::less<>> places = {};
  PlacesOfModels models = {};
  std::optional<OwnRun> own = {};  ///< see Context

  /// If the error is about a flag or a model that follows from a configuration, places it in that file.
  InputError located(const InputError& error) const;
};

/// Replaces --config FILE by the flags that follow from the file, and leaves the other words as they are. Flags that
/// are given win. Prints a note on the settings that were taken. Throws InputError.
ConfiguredWords with_config(const CommandLine& app, std::vector<std::string> words, Context& context);

/// Lets --model name a file of Megatron-LM's arguments: adds the model that they describe, as a file in memory. Throws
/// InputError.
PlacesOfModels add_model_of_arguments(const std::vector<std::string>& words, Context& context);

/// Adds --config, which with_config() takes away before a command is parsed.
void add_config_option(Command& command, std::vector<std::string>& files);

}  // namespace allreplay
