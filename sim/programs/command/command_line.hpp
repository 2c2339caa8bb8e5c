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
struct OptionDefinition;

/// A value of an option, and its meaning.
struct AnnotatedValue {
  std::string name, about;
};

/// Turns a table's names and summaries into annotated values.
template <class Rows>
std::vector<AnnotatedValue> summaries(const Rows& rows) {
  std::vector<AnnotatedValue> values;
  for (const auto& row : rows) values.push_back({std::string(row.name), std::string(row.summary)});
  return values;
}

/// The kind of value that an option takes, and its possible values, which are listed only when help needs them.
struct OptionValue {
  std::string_view name = "VALUE";                       ///< placeholder in help: "STRATEGY"
  std::string_view list = "";                            ///< their kind in `allreplay list`; "": not listed
  bool file = false;                                     ///< a path is accepted, too
  std::string_view choices = "";                         ///< fixed values, separated by commas
  std::vector<std::string> (*words)() = nullptr;         ///< fixed values from a table
  std::vector<AnnotatedValue> (*annotated)() = nullptr;  ///< the same; help explains each below the option
};

/// Kinds of values that several options share.
namespace values {
inline constexpr OptionValue number{"N"}, size{"SIZE"}, duration{"TIME"}, ratio{"RATIO"}, name{"NAME"};
inline constexpr OptionValue file{"FILE", "", true}, profile{"PROFILE", "profiles", true},
    cluster{"CLUSTER", "clusters", true}, codec{"CODEC", "codecs", true}, config{"CONFIG", "configs", true},
    model{"MODEL", "models", true}, device{"DEVICE", "devices", true};
inline constexpr OptionValue strategy{"STRATEGY", "strategies"}, strategies{"STRATEGY,...", "strategies"};
}  // namespace values

/// The description of an option, a flag or a positional argument.
struct OptionRecord {
  std::string names;  ///< "-p,--profile"; a positional has no dash
  std::string help;
  std::variant<std::monostate, std::string*, std::vector<std::string>*, bool*> target;  ///< none: --help
  OptionValue value = {};
  bool required = false, shows_default = false;
  std::optional<bool> extra_args;                            ///< none: CLI11's default
  bool several = false;                                      ///< takes a comma-separated list, as help says
  std::string implied;                                       ///< its value if none follows; "": a value is required
  std::vector<const OptionRecord*> needs, excludes, unless;  ///< not required if an option in `unless` is given
  std::string group;                                         ///< its heading in help; "": "Options"

  std::vector<std::string> separate_names() const;  ///< "-p", "--profile"
  std::string longest_name() const;                 ///< "--profile"
};

/// A handle to an OptionRecord; valid as long as its command line.
class Option {
 public:
  explicit Option(OptionRecord* record) : record_(record) {}

  Option takes(const OptionValue& value);
  Option required(bool whether = true);
  Option several();
  Option allow_extra_args(bool whether);
  Option implied(const std::string& value);
  Option capture_default_str();
  Option needs(Option other);
  Option excludes(Option other);
  Option unless(Option other);
  Option group(const std::string& name);

  OptionDefinition definition() const;

 private:
  OptionRecord* record_;
};

struct CommandRecord {
  std::string name, help, footer;
  std::deque<OptionRecord> options;  ///< a deque, so that pointers to options stay valid
  std::function<void(Context&)> run;
};

/// A handle to a CommandRecord; valid as long as its command line, and so must be the variables that options set.
class Command {
 public:
  explicit Command(CommandRecord* record) : record_(record) {}

  Option add_option(const std::string& names, std::string& target, const OptionValue& value, const std::string& help);
  Option add_option(const std::string& names, std::vector<std::string>& target, const OptionValue& value,
                    const std::string& help);
  Option add_flag(const std::string& names, bool& value, const std::string& help);
  void footer(const std::string& text);
  void callback(std::function<void(Context&)> run);

  std::string get_name() const;
  std::string get_description() const;
  std::string get_footer() const;
  Option get_option(const std::string& name) const;
  std::vector<Option> get_options() const;

 private:
  CommandRecord* record_;
};

class CommandLine {
 public:
  CommandLine(const std::string& program, const std::string& description, const std::string& version,
              const std::string& footer);
  ~CommandLine();

  Command add_subcommand(const std::string& name, const std::string& help);

  std::string get_description() const;
  std::string get_footer() const;
  std::vector<Command> get_subcommands() const;  ///< in the order of their definition

  /// Parses `words` and runs the command they name, or prints help. Throws InputError if they are invalid.
  void parse(std::vector<std::string> words, Context& context);

 private:
  std::string program_, description_, version_, footer_;
  std::deque<std::unique_ptr<CommandRecord>> commands_;
};

}  // namespace allreplay
