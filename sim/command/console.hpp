// What commands say: to the streams of the program or, where a program calls them as a library, to that.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"
#include "sim/experiment/request.hpp"
#include "sim/experiment/run.hpp"
#include "sim/report/view.hpp"

namespace allreplay {

/// Where what a command says goes: to the program's streams; or, where a caller hears it, to what is kept here, and the
/// streams are nobody's. One for each call of a command, and for one thread at a time.
class Console {
 public:
  explicit Console(bool is_captured = false) : is_captured_(is_captured) {}

  bool output_is_captured() const { return is_captured_; }

  /// On standard output.
  void print_text(std::string_view text);
  template <class... Values>
  void print(fmt::format_string<Values...> format, Values&&... values) {
    print_text(fmt::format(format, std::forward<Values>(values)...));
  }

  /// On standard output, each item and member on a line.
  void print_json(const JsonValue& value) { print("{}\n", value.dump(2)); }

  /// A view of a document on standard output.
  void show(const View& view, const JsonValue& document);
  /// The same, or the document itself if `as_json`.
  void show(const View& view, const JsonValue& document, bool as_json);

  /// Text as it stands on standard error.
  void print_aside(std::string_view text);

  /// A line on standard error. A note or a warning is broken between words where that has a width
  /// (width_of_standard_error()), an error on a terminal alone: elsewhere it is one line for whoever searches it. A
  /// path stays whole.
  void print_stderr(std::string_view line);

  /// "warning: …" on standard error for each line that does not begin with "note: ", once for each of them.
  void warn(const std::string& lines);
  /// "note: …", likewise; nothing where there is none.
  void note(const std::string& text) { warn(text.empty() ? text : "note: " + text); }

  /// Gives what was simulated to whoever hears: its plan and its timeline do not stand in what is printed.
  void hand_over(Outcome outcome);

  std::string printed;                                   ///< on standard output
  std::vector<std::string> stderr_lines;                 ///< on standard error: lines, without their ends
  std::vector<Outcome> outcomes;                         ///< what hand_over() was called with
  std::vector<std::pair<const View*, JsonValue>> shown;  ///< the arguments of show()

 private:
  bool is_captured_;
  std::set<std::string> said_;
};

/// What a command is called with beside its options: what its files and names mean, and who hears it.
struct Context {
  Inputs inputs{};
  Console console{};

  const Files& files() const { return inputs.files; }
};

}  // namespace allreplay
