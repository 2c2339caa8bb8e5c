// Shows the progress of long work on standard error.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace allreplay {

/// Shows a bar with the time left on a terminal; otherwise, for logs, prints a line each half minute.
class Progress {
 public:
  /// `telling`: the fraction of the work that must be done before the time left is shown.
  Progress(std::string what, std::size_t total, double telling = 0.05);
  ~Progress();  ///< clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance() { reach(done_ + 1); }
  void reach(std::size_t done);

 private:
  void draw(const std::string& left) const;

  std::string what_;
  std::size_t total_, done_ = 0;
  double telling_;
  bool terminal_;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace allreplay
