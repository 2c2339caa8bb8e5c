// Arguments in a shell script, or as Megatron-LM prints them.
#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/formats/configs/entries.hpp"

namespace allreplay {

namespace {

bool is_word_of(std::string_view text, std::string_view also) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](unsigned char c) {
    return std::isalnum(c) || c == '_' || also.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

struct ShellWord {
  std::string text;
  std::size_t line = 0;
  bool ends_command = false;
};

// Splits a script into words. Knows quotes, comments, continued lines and $(…); all else that ends a command is one
// kind of word.
class ShellWords {
 public:
  ShellWords(std::string_view text, std::size_t line) : text_(text), line_(line) {}

  std::vector<ShellWord> words() {
    while (at_ < text_.size()) step();
    end_word();
    return std::move(words_);
  }

 private:
  char peek(std::size_t more = 0) const { return at_ + more < text_.size() ? text_[at_ + more] : '\0'; }

  char take() {
    if (text_[at_] == '\n') ++line_;
    return text_[at_++];
  }

  void keep(char c) {
    if (!in_word_) begin_ = line_;
    in_word_ = true;
    word_ += c;
  }

  void end_word() {
    if (in_word_) words_.push_back({std::move(word_), begin_});
    word_.clear();
    in_word_ = false;
  }

  void end_command() {
    end_word();
    words_.push_back({"", line_, true});
  }

  // Keeps all up to the closing bracket, with brackets inside.
  void keep_brackets(char open, char close) {
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = take();
      keep(c);
      if (c == open) ++depth;
      if (c == close && --depth == 0) return;
    }
  }

  void keep_quoted(char quote) {
    take();
    if (!in_word_) begin_ = line_;
    in_word_ = true;
    while (at_ < text_.size() && peek() != quote) {
      if (quote == '"' && peek() == '\\' && at_ + 1 < text_.size()) take();
      keep(take());
    }
    if (at_ < text_.size()) take();
  }

  void step() {
    const char c = peek();
    if (c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      end_word();
      while (take() != '\n') {
      }
    } else if (c == '\\' && at_ + 1 < text_.size()) {
      take();
      keep(take());
    } else if (c == '\'' || c == '"') {
      keep_quoted(c);
    } else if (c == '$' && (peek(1) == '(' || peek(1) == '{')) {
      keep(take());
      keep_brackets(peek(), peek() == '(' ? ')' : '}');
    } else if (c == '#' && !in_word_) {
      while (at_ < text_.size() && peek() != '\n') take();
    } else if (c == '\n' || c == ';' || c == '|' || c == '&') {
      end_command();
      take();
    } else if (c == '(' || c == ')' || std::isspace(static_cast<unsigned char>(c))) {
      end_word();
      take();
    } else {
      keep(take());
    }
  }

  std::string_view text_;
  std::size_t at_ = 0, line_, begin_ = 0;
  std::string word_;
  bool in_word_ = false;
  std::vector<ShellWord> words_;
};

class Script {
 public:
  explicit Script(const std::string& file) : entries_(file, true) {}

  void read(std::string_view text, std::size_t line = 1, int depth = 0) {
    const std::vector<ShellWord> words = ShellWords(text, line).words();
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i].ends_command) continue;
      const std::string& word = words[i].text;
      if (word.starts_with("--"))
        take_flag(words, i);
      else
        take_assignment(words[i], depth);
    }
  }

  Entries entries() { return std::move(entries_); }

 private:
  SourceLocation place(const ShellWord& word, const std::string& name) const {
    return {entries_.file(), fmt::format("line {}: {}", word.line, name)};
  }

  void take_flag(const std::vector<ShellWord>& words, std::size_t& i) {
    const ShellWord& word = words[i];
    const std::size_t equals = word.text.find('=');
    const std::string flag = word.text.substr(0, equals);
    if (!is_word_of(std::string_view(flag).substr(2), "-.")) return;
    std::string key = flag.substr(2), value;
    std::replace(key.begin(), key.end(), '-', '_');
    if (equals != std::string::npos)
      value = word.text.substr(equals + 1);
    else if (i + 1 < words.size() && !words[i + 1].ends_command && !words[i + 1].text.starts_with("--"))
      value = words[++i].text;
    entries_.set(key, expanded(value), place(word, flag));
  }

  // NAME=value. A value that is itself a list of flags, as in GPT_ARGS="--num-layers 24 …", is read as such.
  void take_assignment(const ShellWord& word, int depth) {
    const std::size_t equals = word.text.find('=');
    if (equals == std::string::npos || !is_word_of(std::string_view(word.text).substr(0, equals), "")) return;
    const std::string name = word.text.substr(0, equals), value = word.text.substr(equals + 1);
    const std::string text(trim(value));
    if (text.starts_with("--") && depth < 3) return read(value, word.line, depth + 1);
    variables_[name] = expanded(value);
    entries_.set(name, variables_[name], place(word, name));
  }

  static std::string unquoted(const std::string& text) {
    const bool is_quoted = text.size() > 1 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
    return is_quoted ? text.substr(1, text.size() - 2) : text;
  }

  // Replaces $NAME, ${NAME} and ${NAME:-other} by the values that the script sets.
  std::string expanded(const std::string& text) const {
    constexpr std::size_t longest = 10'000;
    std::string result;
    for (std::size_t i = 0; i < text.size() && result.size() < longest;) {
      if (text[i] != '$') {
        result += text[i++];
        continue;
      }
      const bool in_braces = i + 1 < text.size() && text[i + 1] == '{';
      const std::size_t begin = i + (in_braces ? 2 : 1);
      std::size_t end = begin;
      while (end < text.size() && is_word_of(text.substr(end, 1), "")) ++end;
      const std::size_t close = in_braces ? text.find('}', end) : end;
      if (end == begin || close == std::string::npos) {
        result += text[i++];
        continue;
      }
      const auto known = variables_.find(text.substr(begin, end - begin));
      const std::string rest = text.substr(end, close - end), more = text.substr(i, close - i + (in_braces ? 1 : 0));
      if (known != variables_.end() && known->second.find('$') == std::string::npos)
        result += known->second;
      else
        result += rest.starts_with(":-") ? unquoted(rest.substr(2)) : more;
      i = close + (in_braces ? 1 : 0);
    }
    return result;
  }

  Entries entries_;
  std::map<std::string, std::string> variables_;
};

// "  micro_batch_size ................................ 2", maybe behind the name of a rank.
void add_printed(Entries& entries, std::string_view line, std::size_t number) {
  const std::size_t dots = line.find(" .");
  if (dots == std::string_view::npos) return;
  const std::string_view before = trim(line.substr(0, dots));
  const std::size_t blank = before.find_last_of(" \t");
  const std::string key(blank == std::string_view::npos ? before : before.substr(blank + 1));
  const std::size_t end = line.find_first_not_of('.', dots + 1);
  if (!is_word_of(key, "") || end == std::string_view::npos || line[end] != ' ') return;
  entries.set(key, std::string(trim(line.substr(end))), {entries.file(), fmt::format("line {}: {}", number, key)});
}

bool is_heading(std::string_view line) {
  return line.find("- arguments -") != std::string_view::npos && line.find("end of") == std::string_view::npos;
}

}  // namespace

Entries entries_of_arguments(std::string_view text, const std::string& file) {
  const std::vector<std::string_view> lines = split(text, "\n");
  const auto heading = std::find_if(lines.begin(), lines.end(), is_heading);
  if (heading == lines.end()) {
    Script script(file);
    script.read(text);
    return script.entries();
  }
  Entries entries(file);
  for (auto line = heading + 1; line != lines.end(); ++line) {
    if (line->find("end of arguments") != std::string_view::npos) break;
    add_printed(entries, *line, static_cast<std::size_t>(line - lines.begin()) + 1);
  }
  return entries;
}

}  // namespace allreplay
