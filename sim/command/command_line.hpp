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

/// What is known of an option, a flag or a positional.
struct OptionRecord {
  std::string names;  ///< "-p,--profile"; a positional has no dash
  std::string help;
  std::variant<std::monostate, std::string*, std::vector<std::string>*, bool*> target;  ///< none: the parser's own
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

  Option required(bool whether = true);
  Option several();
  Option allow_extra_args(bool whether);
  Option implied(const std::string& value);
  Option capture_default_str();
  Option needs(Option other);
  Option excludes(Option other);
  Option unless(Option other);
  Option group(const std::string& name);

  /// All but its value, which the parser does not know.
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

  Option add_option(const std::string& names, std::string& value, const std::string& help);
  Option add_option(const std::string& names, std::vector<std::string>& values, const std::string& help);
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
