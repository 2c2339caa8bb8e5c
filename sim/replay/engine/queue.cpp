#include "sim/replay/engine/queue.hpp"

#include <algorithm>
#include <functional>

namespace allreplay {

void Queue::push(TaskId id, const Task& task, std::int64_t turn, Time now) {
  const std::int64_t key = rule_.order == Order::FirstReady ? now.count()
                           : rule_.order == Order::Priority ? task.priority
                                                            : turn;
  ready_.push_back({key, turn, id});
  std::push_heap(ready_.begin(), ready_.end(), std::greater<>());
}

void Queue::pop(const Task& task) {
  std::pop_heap(ready_.begin(), ready_.end(), std::greater<>());
  ready_.pop_back();
  ++next_position_;
  ++tasks_in_flight_;
  bytes_in_flight_ += task.bytes;
}

}  // namespace allreplay
