// The command line as data, read from the parser's own definitions: what help and shell completion are made from.
#pragma once

#include <string>
#include <vector>

#include "sim/command/command.hpp"
#include "sim/core/named.hpp"
#include "sim/search/tune.hpp"

namespace allreplay {

inline constexpr Word<TuneMethod> tune_methods[] = {{TuneMethod::Bayes, "bayes"}, {TuneMethod::Grid, "grid"}};

/// An option's value (OptionValue), its lists made.
struct ValueKind {
  ValueKind() = default;
  explicit ValueKind(const OptionValue& value, bool several);

  std::string name, list;
  std::vector<std::string> words;  ///< with the names of those that are annotated
  bool file = false;
  std::vector<AnnotatedValue> annotated;
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

}  // namespace allreplay
