#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/command/help.hpp"

namespace allreplay {

namespace {

using Commands = std::vector<CommandDefinition>;

std::vector<std::string> names_of(const Commands& commands) {
  std::vector<std::string> names;
  for (const CommandDefinition& command : commands) names.push_back(command.name);
  return names;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// In single quotes, for bash and zsh.
std::string quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

// One line for each option of --option that is one of a few words, {0} its name and {1} the words.
std::string for_choices(std::string_view line) {
  std::string text;
  for (const OptionRow& option : option_rows())
    if (!option.words.empty()) text += fmt::format(fmt::runtime(line), option.name, fmt::join(option.words, " "));
  return text;
}

// Names of a list, with commas between them.
bool takes_several(const ValueKind& value) { return value.name.ends_with(",...") && !value.list.empty(); }

// Whether the options of strategies may stand there as flags.
bool takes_keys(const CommandDefinition& command) {
  return std::any_of(command.options.begin(), command.options.end(),
                     [](const OptionDefinition& option) { return option.value.name.starts_with("KEY=V"); });
}

// --- bash ------------------------------------------------------------------------------------------------------------

// What bash does for a value of this kind; $cur is the word so far.
std::string bash_values(const ValueKind& value) {
  if (value.name.starts_with("KEY=")) return "_allreplay_keys";
  if (takes_several(value)) return "_allreplay_several " + value.list + (value.file ? "; _allreplay_files" : "");
  std::string action;
  if (!value.list.empty()) action = "_allreplay_listed " + value.list;
  if (!value.words.empty())
    action = fmt::format("_allreplay_words {}", quoted(fmt::format("{}", fmt::join(value.words, " "))));
  if (value.file) action += (action.empty() ? "" : "; ") + std::string("_allreplay_files");
  return action.empty() ? ":" : action;
}

constexpr std::string_view bash_head = R"bash(# bash completion of allreplay, made by `allreplay completion bash`.

# Offers each line of $1 that the word so far starts, $2 before and $3 after it. Names are those of files: compgen -W
# would evaluate them, and readline (-o filenames) leaves some characters unquoted.
_allreplay_offer() {
  local line quoted start=${cur#"${2-}"}
  while IFS= read -r line; do
    [[ -n $line ]] || continue
    printf -v quoted %q "$line"
    [[ $line == "$start"* || $quoted == "$start"* ]] && COMPREPLY+=("${2-}$quoted${3-}")
  done <<< "$1"
}

_allreplay_words() { _allreplay_offer "${1// /$'\n'}"; }
_allreplay_names() { "${COMP_WORDS[0]/#\~/$HOME}" list "$1" --names 2> /dev/null; }
_allreplay_listed() { _allreplay_offer "$(_allreplay_names "$1")"; }

_allreplay_files() {
  local file quoted
  while IFS= read -r file; do
    printf -v quoted %q "${file#\~/}"
    [[ $file == \~/* ]] && quoted="~/$quoted" file=$HOME/${file#\~/}
    if [[ -d $file ]]; then
      quoted+=/
      compopt -o nospace 2> /dev/null
    fi
    COMPREPLY+=("$quoted")
  done < <(compgen -f -- "$cur")
}

_allreplay_keys() {
  [[ $cur == *=* ]] && return
  _allreplay_offer "$(_allreplay_names options)" "" =
  compopt -o nospace 2> /dev/null
}

# The same as flags, --bucket-cap, once a letter is there.
_allreplay_flags() {
  local keys
  [[ $cur == --?* ]] || return
  keys=$(_allreplay_names options)
  keys=--${keys//_/-}
  _allreplay_offer "${keys//$'\n'/$'\n'--}"
}

# What may stand after key=, or after a flag.
_allreplay_word() {
  case $1 in
@words@  esac
}

# After commas: what is before the last one stays.
_allreplay_several() {
  local before=
  [[ $cur == *,* ]] && before=${cur%,*},
  _allreplay_offer "$(_allreplay_names "$1")" "$before"
  compopt -o nospace 2> /dev/null
}

_allreplay() {
  local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  # bash takes --option=value for three words, and key=value, too.
  if [[ $cur == = ]]; then
    cur=
    [[ $previous != -* ]] && { _allreplay_word "$previous"; return; }
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  [[ $previous != -* && ${COMP_WORDS[COMP_CWORD - 1]} == = ]] && { _allreplay_word "$previous"; return; }
  if ((COMP_CWORD == 1)); then
)bash";

std::string bash_script(const Commands& commands) {
  std::string script(bash_head);
  script = replaced(script, "@words@", for_choices("    {0}) _allreplay_words '{1}' ;;\n"));
  script +=
      fmt::format("    _allreplay_words '{} --help --version'\n    return\n  fi\n", fmt::join(names_of(commands), " "));
  script += "  case $command in\n";
  for (const CommandDefinition& command : commands) {
    std::vector<std::string> options;
    std::string values, positional = ":";
    for (const OptionDefinition& option : command.options) {
      if (option.positional) {
        positional = bash_values(option.value);
        continue;
      }
      options.insert(options.end(), option.names.begin(), option.names.end());
      if (!option.flag)
        values += fmt::format("        {}) {}; return ;;\n", fmt::join(option.names, " | "), bash_values(option.value));
    }
    script += fmt::format("    {})\n", command.name);
    if (!values.empty()) script += "      case $previous in\n" + values + "      esac\n";
    const bool keys = takes_keys(command);
    if (keys) {
      script += "      local key=${previous#--}\n";
      script += "      [[ $previous == --* ]] && _allreplay_word \"${key//-/_}\"\n";
      script += "      ((${#COMPREPLY[@]})) && return\n";
    }
    script += fmt::format("      if [[ $cur == -* ]]; then _allreplay_words '{}'{}; else {}; fi ;;\n",
                          fmt::join(options, " "), keys ? "; _allreplay_flags" : "", positional);
  }
  return script + "  esac\n}\n\ncomplete -F _allreplay allreplay\n";
}

// --- zsh -------------------------------------------------------------------------------------------------------------

// A function after a space is called as it stands; otherwise _arguments puts options of its own before the list's name.
std::string zsh_values(const ValueKind& value) {
  if (value.name.starts_with("KEY=")) return " _allreplay_keys";
  if (takes_several(value)) return (value.file ? " _allreplay_several_or_file " : " _allreplay_several ") + value.list;
  if (!value.words.empty()) return fmt::format("({})", fmt::join(value.words, " "));
  if (!value.list.empty()) return (value.file ? " _allreplay_listed_or_file " : " _allreplay_listed ") + value.list;
  return value.file ? "_files" : " ";
}

// The text of a description within a specification of _arguments.
std::string zsh_text(const std::string& text) {
  return replaced(replaced(replaced(replaced(text, "\\", "\\\\"), "[", "\\["), "]", "\\]"), ":", "\\:");
}

std::string zsh_specification(const OptionDefinition& option) {
  const std::string value = option.flag ? "" : fmt::format(":{}:{}", option.value.name, zsh_values(option.value));
  if (option.positional) return quoted(fmt::format("1:{}:{}", option.value.name, zsh_values(option.value)));
  const std::string text = fmt::format("[{}]", zsh_text(option.help_in_one_line()));
  std::vector<std::string> specifications;
  for (const std::string& name : option.names)
    specifications.push_back(quoted((option.repeatable ? "*" : fmt::format("({})", fmt::join(option.names, " "))) +
                                    name + (option.flag || !name.starts_with("--") ? "" : "=") + text + value));
  return fmt::format("{}", fmt::join(specifications, " "));
}

// The options of strategies as flags: offered once a letter is there.
std::string zsh_flags() {
  std::string text = "  local -a flags=(\n";
  for (const OptionRow& option : option_rows())
    text += fmt::format(
        "    {}\n",
        quoted(fmt::format("{}=[{}]:VALUE:{}", flag_of(option.name), zsh_text(std::string(option.about)),
                           option.words.empty() ? " " : fmt::format("({})", fmt::join(option.words, " ")))));
  return text + "  )\n  [[ $words[CURRENT] == --?* ]] || flags=(\\!$^flags)\n";
}

constexpr std::string_view zsh_head = R"zsh(#compdef allreplay
# zsh completion of allreplay, made by `allreplay completion zsh`.

_allreplay_names() { names=(${(f)"$(${~program} list $1 --names 2> /dev/null)"}) }
_allreplay_listed() { local -a names; _allreplay_names $1; compadd -a names }
_allreplay_listed_or_file() { _allreplay_listed $1; _files }
_allreplay_keys() {
  local -a names
@words@  _allreplay_names options
  compset -P '*=' || compadd -S = -a names
}
_allreplay_several() { local -a names; _allreplay_names $1; compset -P '*,'; compadd -qS , -a names }
_allreplay_several_or_file() { _files; _allreplay_several $1 }

_allreplay() {
  local program=$words[1] curcontext=$curcontext
  if ((CURRENT == 2)); then
    local -a commands=(
)zsh";

std::string zsh_script(const Commands& commands) {
  std::string script =
      replaced(std::string(zsh_head), "@words@", for_choices("  compset -P '{0}=' && {{ compadd {1}; return }}\n"));
  for (const CommandDefinition& command : commands)
    script += fmt::format("      {}\n", quoted(command.name + ":" + zsh_text(command.help)));
  script += "    )\n    _describe command commands\n    return\n  fi\n  local command=$words[2]\n  shift words\n" +
            zsh_flags() + "  ((CURRENT--))\n  case $command in\n";
  for (const CommandDefinition& command : commands) {
    script += fmt::format("    {}) _arguments -s", command.name);
    for (const OptionDefinition& option : command.options) script += " \\\n      " + zsh_specification(option);
    if (takes_keys(command)) script += " \\\n      $flags";
    script += " ;;\n";
  }
  return script +
         "  esac\n}\n\nif [[ $funcstack[1] == _allreplay ]]; then _allreplay \"$@\"; else compdef _allreplay "
         "allreplay; fi\n";
}

// --- fish ------------------------------------------------------------------------------------------------------------

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish_values(const ValueKind& value) {
  const std::string names = fmt::format("(allreplay list {} --names 2>/dev/null)", value.list);
  if (value.name.starts_with("KEY=")) {
    std::string words;
    for (const OptionRow& option : option_rows())
      for (const std::string& word : option.words) words += fmt::format(" {}={}", option.name, word);
    return " -x -a '(allreplay list options --names 2>/dev/null | string replace -r \"\\$\" =)" + words + "'";
  }
  if (takes_several(value))
    return fmt::format(" {} -a '(__fish_append , (allreplay list {} --names 2>/dev/null))'", value.file ? "-rF" : "-x",
                       value.list);
  if (!value.words.empty())
    return fmt::format(" -x -a {}", fish_quoted(fmt::format("{}", fmt::join(value.words, " "))));
  if (!value.list.empty()) return fmt::format(" {} -a '{}'", value.file ? "-rF" : "-x", names);
  return value.file ? " -rF" : " -x";
}

std::string fish_script(const Commands& commands) {
  std::string script = "# fish completion of allreplay, made by `allreplay completion fish`.\n\n";
  script += "complete -c allreplay -f\n";
  for (const CommandDefinition& command : commands)
    script += fmt::format("complete -c allreplay -n __fish_use_subcommand -a {} -d {}\n", command.name,
                          fish_quoted(command.help));
  for (const CommandDefinition& command : commands)
    for (const OptionDefinition& option : command.options) {
      script += fmt::format("complete -c allreplay -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& name : option.names)
        if (!option.positional) script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.flag) script += fish_values(option.value);
      if (!option.positional) script += " -d " + fish_quoted(option.help_in_one_line());
      script += "\n";
    }
  std::vector<std::string> with_keys;
  for (const CommandDefinition& command : commands)
    if (takes_keys(command)) with_keys.push_back(command.name);
  for (const OptionRow& option : option_rows())
    script += fmt::format(
        "complete -c allreplay -n '__fish_seen_subcommand_from {}; and string match -qr \"^--.\" -- (commandline -ct)' "
        "-l {} -x -a {} -d {}\n",
        fmt::join(with_keys, " "), flag_of(option.name).substr(2),
        fish_quoted(fmt::format("{}", fmt::join(option.words, " "))), fish_quoted(std::string(option.about)));
  return script;
}

}  // namespace

const std::vector<std::string>& shells() {
  static const std::vector<std::string> known{"bash", "zsh", "fish"};
  return known;
}

std::string completion_script(const Commands& commands, const std::string& shell) {
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  fail_with_all(shell, shells(), argument("completion"), "no shell '{}'");
}

void add_completion(CommandLine& app) {
  auto shell = std::make_shared<std::string>();
  Command command = app.add_subcommand("completion", "print what lets a shell complete this program's words");
  command.add_option("shell", *shell, fmt::format("{}", fmt::join(shells(), ", "))).required();
  command.footer(
      "Example:\n  source <(allreplay completion bash)      # for this shell\n"
      "  allreplay completion bash > ~/.local/share/bash-completion/completions/allreplay");
  command.callback(
      [&app, shell](Context& context) { context.console.print("{}", completion_script(commands_of(app), *shell)); });
}

}  // namespace allreplay
