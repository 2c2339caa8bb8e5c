// How far long work has come, on standard error, where a person can see it.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace allreplay {

/// A bar with the time left. Silent unless standard error is a terminal.
class Progress {
 public:
  Progress(std::string what, std::size_t total);
  ~Progress();  ///< clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance();

 private:
  std::string what_;
  std::size_t total_, done_ = 0;
  bool shown_;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace allreplay
