#include "sim/studies/experiment/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/screen.hpp"

namespace allreplay {

namespace {

std::string rough_duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

// Returns ", 40 s left", or "" if too little is done: the first rows often differ from the others.
std::string time_left(double seconds_spent, std::size_t done, std::size_t total, double telling) {
  constexpr double long_s = 30;  // then a rough estimate is better than none
  if (done == 0 || (static_cast<double>(done) < telling * static_cast<double>(total) && seconds_spent < long_s))
    return "";
  const double rest = done < total ? static_cast<double>(total - done) : 0;
  return fmt::format(", {} left", rough_duration(seconds_spent / static_cast<double>(done) * rest));
}

}  // namespace

Progress::Progress(std::string what, std::size_t total, double telling)
    : what_(std::move(what)),
      total_(total),
      telling_(telling),
      terminal_(is_terminal(STDERR_FILENO)),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (std::exchange(drawn_, false)) std::fputs("\r\033[K", stderr);
}

void Progress::draw(const std::string& left) {
  constexpr std::size_t width = 30;
  const std::size_t filled = total_ == 0 ? width : width * std::min(done_, total_) / total_;
  fmt::print(stderr, "\r\033[K{} [{}{}] {}/{}{}", what_, std::string(filled, '#'), std::string(width - filled, '.'),
             done_, total_, left);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::reach(std::size_t done) {
  done_ = done;
  if (terminal_ && done_ >= total_) return clear();
  const auto now = std::chrono::steady_clock::now();
  const auto pause = std::chrono::milliseconds(!terminal_ ? 30'000 : drawn_ ? 50 : 1000);
  if (now - last_ < pause) return;
  last_ = now;
  const double spent = std::chrono::duration<double>(now - start_).count();
  const std::string left = time_left(spent, done_, total_, telling_);
  if (terminal_)
    draw(left);
  else
    fmt::print(stderr, "{}: {} of {}{}\n", what_, done_, total_, left);
}

}  // namespace allreplay
