// Shows the progress of long work on standard error.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "sim/base/core/watch.hpp"

namespace allreplay {

/// Shows a bar with the time left on a terminal, if the work takes more than a second; otherwise, for logs, prints a
/// line each half minute.
class Progress {
 public:
  /// `telling`: the fraction of the work that must be done before the time left is shown; after half a minute it is
  /// shown anyway.
  Progress(std::string what, std::size_t total, double telling = 0.05);
  ~Progress();  ///< clears the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance() { reach(done_ + 1); }
  void reach(std::size_t done);  ///< all of them: clears the bar

 private:
  void draw(const std::string& left);
  void clear();

  std::string what_;
  std::size_t total_, done_ = 0;
  double telling_;
  bool terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

/// The steps of a part of watched work. finish() advances by those that it skipped, such as after an error.
class StepsLeft {
 public:
  StepsLeft(std::size_t count, const std::function<void()>& advance) : left_(count), advance_(advance) {}
  void advance() {
    if (left_ == 0) return;
    --left_;
    if (advance_) advance_();
  }
  void finish() {
    while (left_ > 0) advance();
  }

 private:
  std::size_t left_;
  const std::function<void()>& advance_;
};

}  // namespace allreplay
