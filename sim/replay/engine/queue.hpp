// The queue in front of a server: chooses the next ready task, and limits the tasks in flight.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/core/admission.hpp"
#include "sim/replay/engine/task_graph.hpp"

namespace allreplay {

struct QueueRule {
  Order order = Order::FirstReady;
  Window window;
};

class Queue {
 public:
  explicit Queue(const QueueRule& rule) : rule_(rule), bytes_at_most_(static_cast<double>(rule.window.bytes)) {}

  /// Adds a ready task. `turn`: its place among all tasks of this queue.
  void push(TaskId id, const Task& task, std::int64_t turn, Time now);

  /// True if order and window allow a task to start now.
  bool admits() const {
    return !ready_.empty() && tasks_in_flight_ < rule_.window.count && bytes_in_flight_ < bytes_at_most_ &&
           (rule_.order != Order::AsListed || ready_.front().position == next_position_);
  }

  /// The task that starts next, and its removal. REQUIRES: admits().
  TaskId next() const { return ready_.front().id; }
  void pop(const Task& task);

  void completed(const Task& task) {
    --tasks_in_flight_;
    bytes_in_flight_ -= task.bytes;
  }

 private:
  struct Entry {
    std::int64_t key;
    std::int64_t position;
    TaskId id;
    bool operator>(const Entry& other) const { return key != other.key ? key > other.key : position > other.position; }
  };

  QueueRule rule_;
  std::vector<Entry> ready_;  // a heap, the next at the front
  std::int64_t next_position_ = 0;
  std::int64_t tasks_in_flight_ = 0;
  double bytes_at_most_;
  double bytes_in_flight_ = 0;
};

}  // namespace allreplay
