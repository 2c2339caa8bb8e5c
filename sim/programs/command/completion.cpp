#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/programs/command/help.hpp"
#include "sim/programs/command/program.hpp"

namespace allreplay {

namespace {

// The possible completions of a word.
struct Offers {
  std::string before;  // start of the word that stays; completions follow it
  std::vector<AnnotatedValue> words;
  bool files = false;  // paths are possible, too
  bool open = false;   // text follows a completion directly, without a space
};

void add_words(Offers& offers, const std::vector<std::string>& words) {
  for (const std::string& word : words) offers.words.push_back({word, ""});
}

// Completes key=value, the value of --option.
void add_keys(Offers& offers, const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals != std::string::npos) {
    offers.before += word.substr(0, equals + 1);
    if (const OptionRow* row = row_named(option_rows(), word.substr(0, equals))) add_words(offers, row->words);
    return;
  }
  offers.open = true;
  for (const OptionRow& row : option_rows())
    offers.words.push_back({fmt::format("{}=", row.name), std::string(row.about)});
}

// Adds the values of this kind; `word` is the text typed so far.
void add_values(Offers& offers, const Option& option, const std::string& word, const Files& files) {
  const OptionValue& kind = option.value;
  if (kind.name.starts_with("KEY=V")) return add_keys(offers, word);
  offers.files = kind.file;
  if (option.value_name().ends_with(",...")) {
    offers.open = true;
    if (const std::size_t comma = word.rfind(','); comma != std::string::npos)
      offers.before += word.substr(0, comma + 1);
  }
  const std::vector<std::string> fixed = kind.fixed_words();
  add_words(offers, fixed.empty() && !kind.list.empty() ? listed_names(files, kind.list) : fixed);
}

// Returns the possible completions of the last word.
Offers offers_for(const std::vector<std::string>& words, const Files& files) {
  Offers offers;
  const std::string& last = words.back();
  if (words.size() == 1) {
    for (const CommandRow& one : commands()) offers.words.push_back({std::string(one.name), ""});
    add_words(offers, {"--help", "--version"});
    return offers;
  }
  const CommandRow* row = row_named(commands(), words.front());
  if (!row) return offers;
  CommandLine app = command_line();
  row->add(app);
  const Command& command = app.commands.front();
  const bool keys = command.find("--option");
  // The option that the last word is a value of: the word before it, or the start of --option=value.
  const std::size_t equals = last.starts_with("--") ? last.find('=') : std::string::npos;
  const std::string option = equals == std::string::npos ? words[words.size() - 2] : last.substr(0, equals);
  const std::string value = equals == std::string::npos ? last : last.substr(equals + 1);
  if (equals != std::string::npos) offers.before = last.substr(0, equals + 1);
  if (const Option* found = option.starts_with('-') ? command.find(option) : nullptr; found && !found->is_flag()) {
    add_values(offers, *found, value, files);
  } else if (const OptionRow* key =
                 keys && option.starts_with("--") ? row_named(option_rows(), option_of(option)) : nullptr) {
    add_words(offers, key->words);
  } else if (last.starts_with('-')) {
    for (const Option& one : command.options)
      for (const std::string& name : one.all_names())
        if (!one.is_positional()) offers.words.push_back({name, one.help_in_one_line()});
    for (const OptionRow& one : option_rows())  // there are many, so only after a first letter
      if (keys && last.size() > 2) offers.words.push_back({flag_of(one.name), std::string(one.about)});
  } else {
    for (const Option& one : command.options)
      if (one.is_positional()) add_values(offers, one, value, files);
  }
  return offers;
}

// The scripts read the program's answer: the flags "files" and "open"; Offers::before; then a line for each completion,
// its meaning after a tab. The shell keeps the completions that match the word so far.

constexpr std::string_view bash_script = R"bash(# bash completion of allreplay, made by `allreplay completion bash`.

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

_allreplay() {
  local cur=${COMP_WORDS[COMP_CWORD]} words=() how before line quoted i
  COMPREPLY=()
  # bash takes --option=value for three words, and key=value, too.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    if ((i > 1)) && [[ ${COMP_WORDS[i]} == = || ${COMP_WORDS[i - 1]} == = ]]; then
      words[-1]+=${COMP_WORDS[i]}
    else
      words+=("${COMP_WORDS[i]}")
    fi
  done
  [[ $cur == = ]] && cur=
  {
    IFS= read -r how
    IFS= read -r before
    [[ ${words[-1]} != "$cur" ]] && before=${before##*=}
    # Names are those of files: compgen -W would evaluate them, and readline (-o filenames) leaves some unquoted.
    while IFS=$'\t' read -r line _; do
      printf -v quoted %q "$line"
      [[ $line == "${cur#"$before"}"* || $quoted == "${cur#"$before"}"* ]] && COMPREPLY+=("$before$quoted")
    done
  } < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${words[@]}" 2> /dev/null)
  [[ $how == *open* ]] && compopt -o nospace 2> /dev/null
  [[ $how == *files* ]] && _allreplay_files
}

complete -F _allreplay allreplay
)bash";

constexpr std::string_view zsh_script = R"zsh(#compdef allreplay
# zsh completion of allreplay, made by `allreplay completion zsh`.

_allreplay() {
  local program=$words[1]
  local -a lines names shown
  lines=("${(@f)$(${~program} __complete "${(@)words[2,CURRENT]}" 2> /dev/null)}")
  [[ -n $lines[2] ]] && compset -P "${(b)lines[2]}"
  if (($#lines > 2)); then
    names=("${(@)lines[3,-1]%%$'\t'*}")
    shown=("${(@)lines[3,-1]/$'\t'/  -- }")
    if [[ $lines[1] == *open* ]]; then
      compadd -S '' -l -d shown -a names
    else
      compadd -l -d shown -a names
    fi
  fi
  if [[ $lines[1] == *files* ]]; then _files; fi
}

if [[ $funcstack[1] == _allreplay ]]; then _allreplay "$@"; else compdef _allreplay allreplay; fi
)zsh";

constexpr std::string_view fish_script = R"fish(# fish completion of allreplay, made by `allreplay completion fish`.

function __allreplay_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l word (commandline -ct)
    set -l lines (allreplay __complete $words "$word" 2>/dev/null)
    for line in $lines[3..]
        echo $lines[2]$line
    end
    string match -q '*files*' -- $lines[1]; and __fish_complete_path "$word"
end

complete -c allreplay -f -a '(__allreplay_complete)'
)fish";

struct Shell {
  std::string_view name, script;
};
constexpr Shell all_shells[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

std::vector<std::string> shells() { return names_of(all_shells); }

struct CompletionArguments {
  std::string shell;
};

void execute(Context& context, const CompletionArguments& arguments) {
  context.console.print("{}",
                        choose_by_name(all_shells, arguments.shell, argument("completion"), "no shell '{}'").script);
}

}  // namespace

void print_offers(const std::vector<std::string>& words, Context& context) {
  if (words.empty()) return;
  const Offers offers = offers_for(words, context.files());
  context.console.print("{}{}\n{}\n", offers.files ? "files " : "", offers.open ? "open" : "", offers.before);
  for (const auto& [name, about] : offers.words)
    context.console.print("{}{}{}\n", name, about.empty() ? "" : "\t", about);
}

void add_completion(CommandLine& app) {
  auto [command, arguments] =
      app.add<CompletionArguments>("completion", "print the completion script of a shell", execute);
  command.add_option("shell", arguments.shell, one_of("SHELL", shells), fmt::format("{}", fmt::join(shells(), ", ")))
      .required();
  command.footer =
      "Example:\n  source <(allreplay completion bash)      # for this shell\n"
      "  allreplay completion bash > ~/.local/share/bash-completion/completions/allreplay";
}

}  // namespace allreplay
