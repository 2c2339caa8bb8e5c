#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/command/definitions.hpp"
#include "sim/core/version.hpp"

namespace allreplay {

namespace {

// The character that starts at `at` in UTF-8, as roff names it; `at` moves to its last byte.
std::string named(const std::string& text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  unsigned code = first & (0x3Fu >> more);
  for (int i = 0; i < more && at + 1 < text.size(); ++i)
    code = code << 6 | (static_cast<unsigned char>(text[++at]) & 0x3Fu);
  return fmt::format("\\[u{:04X}]", code);
}

// Text as roff has it: no character means a command, and a hyphen can be copied into a shell.
std::string roff(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) >= 0x80)
      result += named(text, at);
    else if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if (c == '`')
      result += "\\(ga";
    else if (c == '\'')
      result += "\\(aq";
    else if (c == '^')
      result += "\\(ha";
    else if (c == '~')
      result += "\\(ti";
    else
      result += c;
  }
  return result.starts_with('.') ? "\\&" + result : result;
}

// Running text: a macro for what stands in backquotes would split sentences, so it is only set in bold.
std::string prose(const std::string& text) {
  std::string result;
  bool bold = false;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('`', start), text.size());
    result += (bold ? "\\fB" : "") + roff(text.substr(start, end - start)) + (bold ? "\\fR" : "");
    bold = !bold;
    start = end + 1;
  }
  return result;
}

std::string as_is(const std::string& text) {
  std::string result = ".PP\n.nf\n";
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    result += roff(text.substr(start, end - start)) + "\n";
    start = end + 1;
  }
  return result + ".fi\n";
}

std::string synopsis(const CommandDefinition& command) {
  std::string line = "\\fBallreplay " + roff(command.name) + "\\fR";
  bool more = false;
  for (const OptionDefinition& option : command.options) {
    if (option.positional)
      line += (more ? " [\\fIoptions\\fR]" : "") +
              fmt::format(" \\fI{}\\fR{}", roff(option.value.name), option.repeatable ? "..." : "");
    else if (option.required)
      line += fmt::format(" \\fB{}\\fR \\fI{}\\fR", roff(option.names.back()), roff(option.value.name));
    else
      more = true;
    if (option.positional) more = false;
  }
  return line + (more ? " [\\fIoptions\\fR]" : "");
}

std::string entry(const OptionDefinition& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back("\\fB" + roff(name) + "\\fR");
  std::string text = ".TP\n";
  text += option.positional ? "\\fI" + roff(option.value.name) + "\\fR" : fmt::format("{}", fmt::join(names, ", "));
  if (!option.flag && !option.positional) text += " \\fI" + roff(option.value.name) + "\\fR";
  text += "\n" + prose(option.help_in_one_line());
  if (!option.default_text.empty()) text += " (" + roff(option.default_text) + ")";
  if (option.required && !option.positional) text += " (required)";
  if (!option.value.list.empty() && option.help.find("allreplay list") == std::string::npos)
    text += "; \\fBallreplay list " + option.value.list + "\\fR lists the names";
  return text + "\n";
}

}  // namespace

std::string manual_page(const std::vector<CommandDefinition>& commands, const std::string& about,
                        const std::string& footer) {
  std::string page =
      ".\\\" Made by allreplay man.\n.TH ALLREPLAY 1 \"\" \"allreplay " + version() + "\" \"User Commands\"\n";
  page += ".SH NAME\nallreplay \\- simulate the iterations of distributed deep learning\n.SH SYNOPSIS\n";
  for (const CommandDefinition& command : commands)
    page += (&command == commands.data() ? "" : ".br\n") + synopsis(command) + "\n";
  page += ".SH DESCRIPTION\n" + prose(about) + "\n.PP\nEach command explains itself with \\fB\\-\\-help\\fR.\n" +
          as_is(footer) + ".SH COMMANDS\n";
  for (const CommandDefinition& command : commands) {
    page += fmt::format(".SS {}\n{}.\n", roff(command.name), prose(command.help));
    for (const OptionDefinition& option : command.options)
      if (option.names.front() != "-h") page += entry(option);
    if (!command.footer.empty()) page += as_is(command.footer);
  }
  page +=
      ".SH KEYS OF \\-\\-option\nThe same names are keys in the files of clusters and sweeps; each is also a flag: "
      "\\fB\\-\\-bucket\\-cap\\fR for bucket_cap.\n";
  for (const OptionRow& option : option_rows())
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(std::string(option.name)), prose(help_of(option)));
  page +=
      ".SH FILES\n" +
      prose(
          "Names of profiles, clusters, models, codecs and sweeps are looked up as paths first, then as NAME.json in "
          "traces, topologies, models, models/codecs, models/transformers, models/devices and configs of the working "
          "directory, of $ALLREPLAY_HOME, of "
          "the installation (share/allreplay), and of the source tree.") +
      "\n.SH ENVIRONMENT\n.TP\n\\fBALLREPLAY_HOME\\fR\n" + prose("A folder with such folders.") +
      "\n.SH EXIT STATUS\n.TP\n0\nSuccess.\n.TP\n2\n" +
      prose("Invalid input: one line on standard error says where, what is wrong, and what would be right.") +
      "\n.TP\n1\nAn internal error.\n";
  return page;
}

void add_man(CommandLine& app) {
  Command command = app.add_subcommand("man", "print this program's manual page, for man(1)");
  command.footer("Example:\n  allreplay man > allreplay.1 && man ./allreplay.1");
  command.callback([&app](Context& context) {
    context.console.print("{}", manual_page(commands_of(app), app.get_description(), app.get_footer()));
  });
}

}  // namespace allreplay
