#include "sim/command/console.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <set>
#include <unistd.h>
#include <utility>

#include "sim/core/text.hpp"

namespace allreplay {

namespace {

thread_local Listener* listener = nullptr;

}  // namespace

Listener::Listener() : before_(std::exchange(listener, this)) {}
Listener::~Listener() { listener = before_; }

bool is_heard() { return listener != nullptr; }

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
    listener->told.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
}

void tell(std::string_view line) {
  constexpr std::size_t longest = 8192;  // bytes: two paths, and words
  const std::string text = one_line(line, longest);
  const bool breaks = !listener && (line.starts_with("note: ") || line.starts_with("warning: "));
  print_aside((breaks ? wrapped(text, width_of_standard_error(), 2) : text) + "\n");
}

void warn(const std::string& text) {
  if (text.empty()) return;
  const std::string line = "warning: " + text;
  if (listener) {
    if (std::find(listener->told.begin(), listener->told.end(), line) == listener->told.end()) tell(line);
    return;
  }
  static std::set<std::string> told;
  if (told.insert(text).second) tell(line);
}

namespace {

// Of a handler, which may call little: no allocation, and no streams.
std::array<char, 8192> last_words;
volatile std::sig_atomic_t last_length = 0;

void say_and_end(int signal) {
  static_cast<void>(!write(STDERR_FILENO, last_words.data(), static_cast<std::size_t>(last_length)));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

constexpr int interruptions[] = {SIGINT, SIGTERM};

}  // namespace

LastWords::LastWords(std::string_view line) {
  if (listener) return;
  const std::string text = "\n" + one_line(line, last_words.size() - 2) + "\n";  // below a line of progress
  std::copy(text.begin(), text.end(), last_words.begin());
  last_length = static_cast<std::sig_atomic_t>(text.size());
  for (const int signal : interruptions)
    if (std::signal(signal, say_and_end) == SIG_IGN) std::signal(signal, SIG_IGN);  // as nohup wants it
}

LastWords::~LastWords() {
  if (last_length == 0) return;
  for (const int signal : interruptions)
    if (std::signal(signal, SIG_DFL) == SIG_IGN) std::signal(signal, SIG_IGN);
  last_length = 0;
}

void hand_over(Outcome outcome) {
  if (listener) listener->outcomes.push_back(std::move(outcome));
}

}  // namespace allreplay
