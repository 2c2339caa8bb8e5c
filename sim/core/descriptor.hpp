// An open file.
#pragma once

#include <unistd.h>
#include <utility>

namespace allreplay {

/// Closes its number, if it is one: below 0 nothing is open.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

  /// Whether all that was written has arrived; errno says what else.
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

  void reset(int number = -1) {
    if (is_open()) static_cast<void>(close());
    number_ = number;
  }

 private:
  int number_;
};

}  // namespace allreplay
