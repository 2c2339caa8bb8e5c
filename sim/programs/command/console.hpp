// The output of commands: to the program's streams or, for Python, kept in memory.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/core/json_value.hpp"
#include "sim/base/core/screen.hpp"
#include "sim/output/report/view.hpp"
#include "sim/studies/experiment/progress.hpp"
#include "sim/studies/experiment/request.hpp"
#include "sim/studies/experiment/run.hpp"

namespace allreplay {

/// Writes a command's output to standard output and error or, if captured, keeps it in the members below instead. One
/// per call of a command; not thread-safe.
class Console {
 public:
  explicit Console(bool is_captured = false) : is_captured_(is_captured) {}

  bool output_is_captured() const { return is_captured_; }

  /// Prints to standard output.
  void print_text(std::string_view text);
  template <class... Values>
  void print(fmt::format_string<Values...> format, Values&&... values) {
    print_text(fmt::format(format, std::forward<Values>(values)...));
  }

  /// Prints JSON to standard output, one item or member per line; an object together with `configs`, if there are any.
  void print_json(const JsonValue& value);

  /// Prints a view of the document to standard output.
  void show(const View& view, const JsonValue& document);
  /// Prints the document as JSON if `as_json`, else the view of it.
  void show(const View& view, const JsonValue& document, bool as_json);

  /// Prints text to standard error unchanged.
  void print_aside(std::string_view text);

  /// Prints a line to standard error. Notes and warnings are wrapped to width_of_standard_error(); errors only on a
  /// terminal, so that a log has each on one line. Paths are not broken.
  void print_stderr(std::string_view line);

  /// Prints each new line to standard error: as "warning: …", or unchanged if it begins with "note: ".
  void warn(const std::string& lines);
  /// Prints "note: …" in the same way; nothing if `text` is empty.
  void note(const std::string& text) { warn(text.empty() ? text : "note: " + text); }

  /// Like warn() and note(), but before the next output, or at the end, and not if the command fails before: an error
  /// is one line.
  void warn_on_success(const std::string& lines) { held_.push_back(lines); }
  void note_on_success(const std::string& text) { held_.push_back("note: " + text); }
  void tell_held_notes();

  /// Shows progress of `what`, unless captured; see Progress.
  Watch watch(const std::string& what) const;

  /// If captured, keeps the outcome, whose plan and timeline are not in the printed output.
  void hand_over(Outcome outcome);

  std::vector<JsonValue> configs;                        ///< what --config took from each file
  std::string printed;                                   ///< captured standard output
  std::vector<std::string> stderr_lines;                 ///< captured standard error: lines without line ends
  std::vector<Outcome> outcomes;                         ///< captured arguments of hand_over()
  std::vector<std::pair<const View*, JsonValue>> shown;  ///< captured arguments of show()

 private:
  bool is_captured_;
  std::set<std::string> said_;
  std::vector<std::string> held_;
};

/// The run that --config describes: its command line, "run" first, and the same with --config.
struct OwnRun {
  std::vector<std::string> words, shown;
};

/// The surroundings of a command's call: where its files and names are looked up, and where its output goes.
struct Context {
  Inputs inputs{};
  Console console{};
  std::optional<OwnRun> own{};  ///< for `recommend`, which takes only a part of what --config describes

  const Files& files() const { return inputs.files; }

  /// Writes a cluster's file; a note says so if that replaces a file.
  void write_cluster(const std::string& file, std::string_view text);
};

}  // namespace allreplay
