#include "sim/programs/command/console.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <unistd.h>
#include <utility>

#include "sim/base/core/screen.hpp"
#include "sim/base/core/text.hpp"

namespace allreplay {

void Console::print_text(std::string_view text) {
  tell_held_notes();
  if (is_captured_)
    printed += text;
  else
    fmt::print("{}", text);
}

void Console::print_json(const JsonValue& value) {
  JsonValue whole = value;
  if (!configs.empty() && !whole.is_array()) whole["configs"] = configs;
  print("{}\n", json_text(whole, 2));
}

void Console::show(const View& view, const JsonValue& document) {
  print("{}", rendered(view, document, screen()));
  if (is_captured_) shown.emplace_back(&view, document);
}

void Console::show(const View& view, const JsonValue& document, bool as_json) {
  if (as_json)
    print_json(document);
  else
    show(view, document);
}

void Console::print_aside(std::string_view text) {
  if (!is_captured_) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    return;
  }
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    stderr_lines.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
}

void Console::print_stderr(std::string_view line) {
  constexpr std::size_t longest = 8192;  // bytes; enough for two paths and some words
  const std::string text = one_line(line, longest);
  const bool aside = line.starts_with("note: ") || line.starts_with("warning: ");
  const bool breaks = !is_captured_ && (aside || is_terminal(STDERR_FILENO));
  print_aside((breaks ? wrapped(text, width_of_standard_error(), 2) : text) + "\n");
}

void Console::tell_held_notes() {
  for (const std::string& lines : std::exchange(held_, {})) warn(lines);
}

void Console::warn(const std::string& lines) {
  if (!lines.empty()) tell_held_notes();
  for (const std::string_view line : split(lines, "\n"))
    if (!line.empty() && said_.emplace(line).second)
      print_stderr(fmt::format("{}{}", line.starts_with("note: ") ? "" : "warning: ", line));
}

void Context::write_cluster(const std::string& file, std::string_view text) {
  const bool replaces = !console.output_is_captured() && std::filesystem::is_regular_file(file);
  files().write(file, text);
  if (replaces) console.note(fmt::format("{} was there already and is replaced", file));
}

Watch Console::watch(const std::string& what) const {
  return [what, captured = is_captured_](std::size_t steps) -> std::function<void()> {
    if (captured) return {};
    return [progress = std::make_shared<Progress>(what, steps)] { progress->advance(); };
  };
}

void Console::hand_over(Outcome outcome) {
  if (is_captured_) outcomes.push_back(std::move(outcome));
}

}  // namespace allreplay
