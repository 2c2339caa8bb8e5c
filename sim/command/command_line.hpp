// The commands and their options as data: described once, and read by the parser of the command line, by the manual
// page and shell completion, and by whoever calls a command as a function. CLI11 stands in command_line.cpp alone,
// since its header takes longer to compile than any command; the names are CLI11's.
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

/// A value, and what it means.
struct AnnotatedValue {
  std::string name, about;
};

/// The rows of a table, with their summaries.
template <class Rows>
std::vector<AnnotatedValue> summaries(const Rows& rows) {
  std::vector<AnnotatedValue> values;
  for (const auto& row : rows) values.push_back({std::string(row.name), std::string(row.summary)});
  return values;
}

/// What stands after an option, and where its values are found. Lists are made when help or a shell asks for them.
struct OptionValue {
  std::string_view name = "VALUE";                ///< as help shows it: "STRATEGY"
  std::string_view list = "";                     ///< what `allreplay list` calls these values; "" if it does not
  bool file = false;                              ///< a path will do, too
  std::string_view choices = "";                  ///< values that are always the same, with commas between
  std::vector<std::string> (*words)() = nullptr;  ///< the same, of a table
  std::vector<AnnotatedValue> (*annotated)() = nullptr;  ///< likewise, in full under the help of the option
};

/// Those that several options take.
namespace values {
inline constexpr OptionValue number{"N"}, size{"SIZE"}, duration{"TIME"}, ratio{"RATIO"}, name{"NAME"};
inline constexpr OptionValue file{"FILE", "", true}, profile{"PROFILE", "profiles", true},
    cluster{"CLUSTER", "clusters", true}, codec{"CODEC", "codecs", true}, config{"CONFIG", "configs", true},
    model{"MODEL", "models", true}, device{"DEVICE", "devices", true};
inline constexpr OptionValue strategy{"STRATEGY", "strategies"}, strategies{"STRATEGY,...", "strategies"};
}  // namespace values

/// What is known of an option, a flag or a positional.
struct OptionRecord {
  std::string names;  ///< "-p,--profile"; a positional has no dash
  std::string help;
  std::variant<std::monostate, std::string*, std::vector<std::string>*, bool*> target;  ///< none: the parser's own
  OptionValue value = {};
  bool required = false, shows_default = false;
  std::optional<bool> extra_args;                            ///< none: as the parser does
  bool several = false;                                      ///< with commas between them: help says so
  std::string implied;                                       ///< its value where none follows; "": one must
  std::vector<const OptionRecord*> needs, excludes, unless;  ///< not required where one of the last is given
  std::string group;                                         ///< under which help shows it; "" under "Options"

  std::vector<std::string> names_apart() const;  ///< "-p", "--profile"
  std::string longest_name() const;              ///< "--profile"
};

/// An option, a flag or a positional, while its command is there.
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

/// What is known of a command.
struct CommandRecord {
  std::string name, help, footer;
  std::deque<OptionRecord> options;  ///< they stay where they are
  std::function<void(Context&)> run;
};

/// A command, while its command line is there. What options are read into has to live as long.
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

  /// Runs the command that is called, or prints help. Throws InputError where the words are wrong.
  void parse(std::vector<std::string> words, Context& context);

 private:
  std::string program_, description_, version_, footer_;
  std::deque<std::unique_ptr<CommandRecord>> commands_;
};

}  // namespace allreplay
