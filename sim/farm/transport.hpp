// Messages between the processes of a job. One header, so that what is loaded when it is asked for (mpi.cpp) needs
// nothing else of this program.
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

  /// Returns once `message` may be changed. What one rank sends another arrives in its order.
  virtual void send(int to, std::string_view message) = 0;

  /// Waits for the next message, whoever sent it.
  virtual std::pair<int, std::string> receive() = 0;

  /// Whether there is one.
  virtual bool waiting() = 0;

  /// Whether there is one before `end`: without MPI's own waiting, which keeps a core busy that another rank may need.
  bool waiting_until(std::chrono::steady_clock::time_point end) {
    for (int tries = 0; !waiting(); ++tries) {
      if (std::chrono::steady_clock::now() >= end) return false;
      if (tries > 1000) std::this_thread::sleep_for(std::chrono::microseconds(tries > 2000 ? 1000 : 50));
    }
    return true;
  }
};

}  // namespace allreplay
