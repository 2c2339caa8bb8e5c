#include "sim/experiment/progress.hpp"

#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

#include "sim/core/units.hpp"

namespace allreplay {

Progress::Progress(std::string what, std::size_t total)
    : what_(std::move(what)),
      total_(total),
      shown_(isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::advance() {
  ++done_;
  const auto now = std::chrono::steady_clock::now();
  if (!shown_ || (done_ < total_ && now - last_ < std::chrono::milliseconds(50))) return;
  last_ = now;
  constexpr std::size_t width = 30;
  const std::size_t filled = total_ == 0 ? width : width * done_ / total_;
  const double spent = std::chrono::duration<double>(now - start_).count();
  const double left = spent / static_cast<double>(done_) * static_cast<double>(total_ - done_);
  fmt::print(stderr, "\r\033[K{} [{}{}] {}/{}, {:.0f} s left", what_, std::string(filled, '#'),
             std::string(width - filled, '.'), done_, total_, left);
  std::fflush(stderr);
}

}  // namespace allreplay
