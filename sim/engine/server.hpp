// What serves tasks: a GPU stream, an alpha-beta channel, a network of flows.
#pragma once

#include <vector>

#include "sim/engine/task_graph.hpp"

namespace allreplay {

/// Serves the tasks that a queue hands to it, and says when the next one ends. Has no clock of its own: times
/// passed in never decrease. A server may change its mind about next_completion() whenever it is called.
class Server {
 public:
  virtual ~Server() = default;

  virtual void start(TaskId id, const Task& task, Time now) = 0;

  /// The next instant at which complete() should be called; `never` while there is nothing to wait for.
  virtual Time next_completion() const = 0;

  /// Appends to `done` what ends at `now`, in a fixed order; possibly nothing (an instant may only mark progress).
  virtual void complete(Time now, std::vector<TaskId>& done) = 0;

  /// Events inside the server that the engine does not see: messages of a collective, for example.
  virtual std::int64_t events() const { return 0; }
};

/// One task at a time, for as long as the task says. REQUIRES: a window of one task.
class Stream final : public Server {
 public:
  void start(TaskId id, const Task& task, Time now) override {
    running_ = id;
    end_ = add(now, task.duration);
  }
  Time next_completion() const override { return end_; }
  void complete(Time now, std::vector<TaskId>& done) override {
    if (now != end_) return;
    done.push_back(running_);
    end_ = never;
  }

 private:
  TaskId running_ = 0;
  Time end_ = never;
};

}  // namespace allreplay
