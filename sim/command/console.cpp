#include "sim/command/console.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "sim/core/text.hpp"

namespace allreplay {

namespace {

thread_local Listener* listener = nullptr;

}  // namespace

Listener::Listener() : before_(std::exchange(listener, this)) {}
Listener::~Listener() { listener = before_; }

bool output_is_captured() { return listener != nullptr; }

void print_text(std::string_view text) {
  if (listener)
    listener->printed += text;
  else
    fmt::print("{}", text);
}

void print_aside(std::string_view text) {
  if (!listener) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    return;
  }
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    listener->stderr_lines.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
}

void print_stderr(std::string_view line) {
  constexpr std::size_t longest = 8192;  // bytes: two paths, and words
  const std::string text = one_line(line, longest);
  const bool breaks = !listener && (line.starts_with("note: ") || line.starts_with("warning: "));
  print_aside((breaks ? wrapped(text, width_of_standard_error(), 2) : text) + "\n");
}

void warn(const std::string& text) {
  if (text.empty()) return;
  const std::string line = "warning: " + text;
  if (listener) {
    if (std::find(listener->stderr_lines.begin(), listener->stderr_lines.end(), line) == listener->stderr_lines.end())
      print_stderr(line);
    return;
  }
  static std::set<std::string> told;
  if (told.insert(text).second) print_stderr(line);
}

void hand_over(Outcome outcome) {
  if (listener) listener->outcomes.push_back(std::move(outcome));
}

}  // namespace allreplay
