// The commands and options as plain data, from which help and shell completion are made.
#pragma once

#include <string>
#include <vector>

#include "sim/base/core/named.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/studies/search/tune.hpp"

namespace allreplay {

inline constexpr Word<TuneMethod> tune_methods[] = {{TuneMethod::Bayes, "bayes"}, {TuneMethod::Grid, "grid"}};

/// An OptionValue with its lists filled in.
struct ValueKind {
  ValueKind() = default;
  explicit ValueKind(const OptionValue& value, bool several);

  std::string name, list;
  std::vector<std::string> words;  ///< includes the names of the annotated ones
  bool file = false;
  std::vector<AnnotatedValue> annotated;
};

struct OptionDefinition {
  std::vector<std::string> names;  ///< "-p", "--profile"; for a positional, its name
  std::string help;                ///< one line; if it ends with a colon, the annotated values follow
  std::string default_text;        ///< its default; "" if it has none
  bool positional = false, flag = false, required = false, repeatable = false, several = false;
  std::string group;  ///< its heading in help; "": "Options"
  ValueKind value;

  std::string help_in_one_line() const;  ///< `help`, followed by the names of the annotated values
};

struct CommandDefinition {
  std::string name, help, footer;
  std::vector<OptionDefinition> options;  ///< positionals last
};

/// The commands of `app`, in the order of their definition.
std::vector<CommandDefinition> commands_of(const CommandLine& app);

/// The shells that `completion` has a script for.
const std::vector<std::string>& shells();

/// Answers a completion script (`allreplay __complete WORD…`): prints the completions of the last word, maybe empty.
void print_offers(const std::vector<std::string>& words, Context& context);

}  // namespace allreplay
