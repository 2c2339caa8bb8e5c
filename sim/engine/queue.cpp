#include "sim/engine/queue.hpp"

#include <algorithm>
#include <functional>

namespace allreplay {

void Queue::push(TaskId id, const Task& task, Time now) {
  const std::int64_t key = rule_.order == Order::FirstReady ? now.count()
                           : rule_.order == Order::Priority ? task.priority
                                                            : task.rank;
  ready_.push_back({key, task.rank, id});
  std::push_heap(ready_.begin(), ready_.end(), std::greater<>());
}

TaskId Queue::pop(const TaskGraph& graph) {
  std::pop_heap(ready_.begin(), ready_.end(), std::greater<>());
  const TaskId id = ready_.back().id;
  ready_.pop_back();
  ++next_rank_;
  ++tasks_in_flight_;
  bytes_in_flight_ += graph.tasks()[id].bytes;
  return id;
}

}  // namespace allreplay
