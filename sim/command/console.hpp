// What commands say: to the streams of the program or, where a program calls them as a library, to that.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/core/screen.hpp"
#include "sim/experiment/run.hpp"

namespace allreplay {

/// Hears what the commands of this thread say while it lives; nothing goes to the streams then. Of several the
/// last one made hears.
class Listener {
 public:
  Listener();
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::string printed;                    ///< on standard output
  std::vector<std::string> stderr_lines;  ///< on standard error: lines, without their ends
  std::vector<Outcome> outcomes;          ///< what hand_over() was called with

 private:
  Listener* before_;
};

/// Whether a listener hears, and the streams are nobody's.
bool output_is_captured();

/// On standard output.
void print_text(std::string_view text);
template <class... Values>
void print(fmt::format_string<Values...> format, Values&&... values) {
  print_text(fmt::format(format, std::forward<Values>(values)...));
}

/// Text as it stands on standard error.
void print_aside(std::string_view text);

/// A line on standard error. A note or a warning is broken between words where that has a width
/// (width_of_standard_error()); an error never is, so that it is one line for whoever searches it, and its path can be
/// copied.
void print_stderr(std::string_view line);

/// "warning: …" on standard error, once for each text.
void warn(const std::string& text);

/// Gives what was simulated to whoever listens: its plan and its timeline do not stand in what is printed.
void hand_over(Outcome outcome);

}  // namespace allreplay
