// The command line as data, read from the parser's own definitions: what the manual page and shell completion are made
// from.
#pragma once

#include <string>
#include <vector>

#include "sim/command/command.hpp"
#include "sim/core/named.hpp"
#include "sim/search/tune.hpp"

namespace allreplay {

inline constexpr Word<TuneMethod> tune_methods[] = {{TuneMethod::Bayes, "bayes"}, {TuneMethod::Grid, "grid"}};

/// A value, and what it means.
struct ToldValue {
  std::string name, about;
};

/// What stands after an option, and where its values are found.
struct ValueKind {
  std::string name;                ///< as help shows it: "STRATEGY"
  std::string list = "";           ///< what `allreplay list` calls these values; "" if it does not
  std::vector<std::string> words;  ///< values that are always the same
  bool file = false;               ///< a path will do, too
  std::vector<ToldValue> told;     ///< in full under the help of the option, where that ends with a colon
};

struct OptionDefinition {
  std::vector<std::string> names;  ///< "-p", "--profile"; of a positional its name
  std::string help;                ///< one line, with the values that it lists
  std::string standard;            ///< its default; "" where it has none
  bool positional = false, flag = false, required = false, repeatable = false;
  ValueKind value;
};

struct CommandDefinition {
  std::string name, help, footer;
  std::vector<OptionDefinition> options;  ///< positionals last
};

/// Commands in the order of their definition.
std::vector<CommandDefinition> commands_of(const CommandLine& app);

/// Lets --help call each value by its kind's name, and tell values. To be called once all commands are added.
void name_values(CommandLine& app);

/// The shells that completion_script() knows.
const std::vector<std::string>& shells();
std::string completion_script(const std::vector<CommandDefinition>& commands, const std::string& shell);

/// The manual page, for man(1). `about` is the program's description, `footer` its first steps.
std::string manual_page(const std::vector<CommandDefinition>& commands, const std::string& about,
                        const std::string& footer);

}  // namespace allreplay
