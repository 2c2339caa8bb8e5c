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
struct AnnotatedValue {
  std::string name, about;
};

/// What stands after an option, and where its values are found.
struct ValueKind {
  std::string name;                       ///< as help shows it: "STRATEGY"
  std::string list = "";                  ///< what `allreplay list` calls these values; "" if it does not
  std::vector<std::string> words;         ///< values that are always the same
  bool file = false;                      ///< a path will do, too
  std::vector<AnnotatedValue> annotated;  ///< in full under the help of the option
};

struct OptionDefinition {
  std::vector<std::string> names;  ///< "-p", "--profile"; of a positional its name
  std::string help;                ///< one line; where that ends with a colon, the values that are told are to follow
  std::string default_text;        ///< its default; "" where it has none
  bool positional = false, flag = false, required = false, repeatable = false, several = false;
  std::string group;  ///< under which help shows it; "" under "Options"
  ValueKind value;

  std::string help_in_one_line() const;  ///< with the names of values that are told
};

struct CommandDefinition {
  std::string name, help, footer;
  std::vector<OptionDefinition> options;  ///< positionals last
};

/// Commands in the order of their definition.
std::vector<CommandDefinition> commands_of(const CommandLine& app);

/// The shells that `completion` has a script for.
const std::vector<std::string>& shells();

/// What a shell's script asks (`allreplay __complete WORD…`): what may stand in the place of the last word, which may
/// be empty.
void print_offers(const std::vector<std::string>& words, Context& context);

/// The manual page, for man(1). `about` is the program's description, `footer` its first steps.
std::string manual_page(const std::vector<CommandDefinition>& commands, const std::string& about,
                        const std::string& footer);

}  // namespace allreplay
