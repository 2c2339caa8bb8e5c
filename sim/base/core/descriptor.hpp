// Owns a POSIX file descriptor.
#pragma once

#include <unistd.h>
#include <utility>

namespace allreplay {

/// Closes its file descriptor at the end of its life. A negative number means that nothing is open.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

  /// True if everything written has reached the file; otherwise errno holds the reason.
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

  void reset(int number = -1) {
    if (is_open()) static_cast<void>(close());
    number_ = number;
  }

 private:
  int number_;
};

}  // namespace allreplay
