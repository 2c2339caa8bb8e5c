// The command line as commands describe it, and the parser's own definitions read back. CLI11 stands behind it, in
// command_line.cpp alone, since its header takes longer to compile than any command; the names are CLI11's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace allreplay {

struct OptionDefinition;

/// An option, a flag or a positional, while its command is there.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required(bool whether = true);
  Option delimiter(char between);
  Option allow_extra_args(bool whether);
  Option capture_default_str();
  Option needs(Option other);
  Option excludes(Option other);
  Option type_name(const std::string& name);
  Option description(const std::string& help);

  /// All but its value, which the parser does not know.
  OptionDefinition definition() const;

 private:
  CLI::Option* option_;
};

/// A command, while its command line is there. What options are read into has to live as long.
class Command {
 public:
  explicit Command(CLI::App* command) : command_(command) {}

  Option add_option(const std::string& names, std::string& value, const std::string& help);
  Option add_option(const std::string& names, std::vector<std::string>& values, const std::string& help);
  Option add_flag(const std::string& names, bool& value, const std::string& help);
  void footer(const std::string& text);
  void callback(std::function<void()> run);

  std::string get_name() const;
  std::string get_description() const;
  std::string get_footer() const;  ///< "" where it is the program's
  Option get_option(const std::string& name) const;
  std::vector<Option> get_options() const;

 private:
  CLI::App* command_;
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

  /// Runs the command that is called, or prints help. Returns what is wrong with the words, if anything is.
  std::optional<std::string> parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace allreplay
