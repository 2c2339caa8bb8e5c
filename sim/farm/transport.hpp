// Messages between the processes of a job. One header, so that what is loaded when it is asked for (mpi.cpp) needs
// nothing else of this program.
#pragma once

#include <string>
#include <string_view>
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
};

}  // namespace allreplay
