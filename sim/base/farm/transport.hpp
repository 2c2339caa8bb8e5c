// Messages between the processes (ranks) of a farm. Header-only: the module mpi.cpp is not linked with other code.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace allreplay {

class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Returns once `message` may be changed. Messages from one rank to another arrive in order.
  virtual void send(int to, std::string_view message) = 0;

  /// Waits for the next message from any rank. Returns its sender and its text.
  virtual std::pair<int, std::string> receive() = 0;

  /// True if a message has arrived.
  virtual bool waiting() = 0;

  /// True if a message arrives before `end`. Sleeps between polls, since MPI's waiting would keep a core busy.
  bool waiting_until(std::chrono::steady_clock::time_point end) {
    for (int tries = 0; !waiting(); ++tries) {
      if (std::chrono::steady_clock::now() >= end) return false;
      if (tries > 1000) std::this_thread::sleep_for(std::chrono::microseconds(tries > 2000 ? 1000 : 50));
    }
    return true;
  }
};

}  // namespace allreplay
