// The commands and their options as data, which the parser, help, the manual page, shell completion and the Python
// module read. Only command_line.cpp includes CLI11, whose header is slow to compile; method names follow CLI11.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace allreplay {

struct Context;

/// A value of an option, and its meaning.
struct AnnotatedValue {
  std::string name, about;
};

/// Turns a table's names and summaries into annotated values.
template <class Rows>
std::vector<AnnotatedValue> summaries(const Rows& rows) {
  std::vector<AnnotatedValue> values;
  for (const auto& row : rows)
    if constexpr (requires { row.summary; })
      values.push_back({std::string(row.name), std::string(row.summary)});
    else
      values.push_back({std::string(row.name), std::string(row.about)});
  return values;
}

/// The values of an option, for help and shell completion.
struct OptionValue {
  std::string_view name = "VALUE";                       ///< in help: "N", "FILE"
  std::string_view list = "";                            ///< a kind of names that `allreplay list` knows: "strategies"
  bool file = false;                                     ///< a path is accepted, too
  std::string_view choices = "";                         ///< fixed values, separated by commas
  std::vector<std::string> (*words)() = nullptr;         ///< fixed values from a table
  std::vector<AnnotatedValue> (*annotated)() = nullptr;  ///< the same; help explains each below the option

  std::vector<AnnotatedValue> annotated_words() const {
    return annotated ? annotated() : std::vector<AnnotatedValue>();
  }
  std::vector<std::string> fixed_words() const;
};

/// A word of a table.
constexpr OptionValue one_of(std::string_view name, std::vector<std::string> (*words)()) {
  return {.name = name, .words = words};
}

/// Kinds of values that several options share.
namespace values {
inline constexpr OptionValue number{"N"}, size{"SIZE"}, duration{"TIME"}, ratio{"RATIO"}, name{"NAME"};
inline constexpr OptionValue file{"FILE", "", true}, profile{"PROFILE", "profiles", true},
    cluster{"CLUSTER", "clusters", true}, codec{"CODEC", "codecs", true}, config{"CONFIG", "configs", true},
    model{"MODEL", "models", true}, device{"DEVICE", "devices", true};
inline constexpr OptionValue strategy{"STRATEGY", "strategies"}, strategies{"STRATEGY,...", "strategies"};
}  // namespace values

/// An option, a flag or a positional argument.
struct Option {
  std::string names;  ///< "-p,--profile"; a positional has no dash
  std::string help;   ///< one line; if it ends with a colon, the annotated values follow
  std::variant<std::monostate, std::string*, std::vector<std::string>*, bool*> target = {};  ///< none: --help
  OptionValue value = {};
  bool is_required = false;
  bool is_list = false;              ///< takes a comma-separated list, as help says
  bool takes_several_words = false;  ///< "--merge a b"
  std::string implied_value = {};    ///< its value if none follows; "": a value is required
  std::string heading = {};          ///< in help; "": "Options"
  std::vector<const Option*> needed = {}, excluded = {}, alternatives = {};  ///< an alternative makes it not required

  Option& takes(const OptionValue& kind) { return value = kind, *this; }
  Option& required(bool whether = true) { return is_required = whether, *this; }
  Option& several() { return is_list = true, *this; }
  Option& allow_extra_args() { return takes_several_words = true, *this; }
  Option& implied(const std::string& text) { return implied_value = text, *this; }
  Option& needs(const Option& other) { return needed.push_back(&other), *this; }
  Option& excludes(const Option& other) { return excluded.push_back(&other), *this; }
  Option& unless(const Option& other) { return alternatives.push_back(&other), *this; }
  Option& group(const std::string& title) { return heading = title, *this; }

  bool is_positional() const { return names[0] != '-'; }
  bool is_flag() const { return target.index() == 0 || std::holds_alternative<bool*>(target); }
  bool is_repeatable() const { return std::holds_alternative<std::vector<std::string>*>(target); }
  std::vector<std::string> all_names() const;                                      ///< "-p", "--profile"
  std::string longest_name() const { return names.substr(names.rfind(',') + 1); }  ///< "--profile"
  std::string value_name() const { return std::string(value.name) + (is_list ? ",..." : ""); }
  std::string full_help() const { return help + (is_list ? "; several: a,b" : ""); }
  std::string help_in_one_line() const;  ///< full_help(), followed by the names of the annotated values
  std::string default_text() const;      ///< the value at first; "" if it has none
};

struct Command {
  std::string name, help;
  std::string footer = {};
  std::function<void(Context&)> run = {};
  std::deque<Option> options = {};  ///< a deque, so that pointers to options stay valid

  Option& add_option(const std::string& names, std::string& target, const OptionValue& value, const std::string& help);
  Option& add_option(const std::string& names, std::vector<std::string>& target, const OptionValue& value,
                     const std::string& help);
  Option& add_flag(const std::string& names, bool& target, const std::string& help);

  const Option* find(std::string_view option) const;  ///< by any of its names, or null
  /// REQUIRES: the command has an option of this name.
  Option& get_option(std::string_view option) { return const_cast<Option&>(*find(option)); }
};

struct CommandLine {
  std::string program, about, version, footer;
  std::deque<Command> commands = {};  ///< in the order of their definition

  template <class Arguments>
  struct Added {
    Command& command;
    Arguments& arguments;
  };
  /// Adds a command. Its arguments, which its options set, live as long as the command line.
  template <class Arguments>
  Added<Arguments> add(const std::string& name, const std::string& help,
                       void (*execute)(Context& context, const Arguments& arguments)) {
    const auto arguments = std::make_shared<Arguments>();
    Command& command = commands.emplace_back(Command{name, help});
    command.options.push_back({.names = "-h,--help", .help = "show this help message and exit"});
    command.run = [arguments, execute](Context& context) { execute(context, *arguments); };
    return {command, *arguments};
  }

  /// Parses `words` and runs the command they name, or prints help. Throws InputError if they are invalid.
  void parse(std::vector<std::string> words, Context& context) const;
};

}  // namespace allreplay
